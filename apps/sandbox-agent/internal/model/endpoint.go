package model

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxBodyBytes bounds a harness's request.
const maxBodyBytes = 64 << 20

// call is one model request of the harness. The hub's mutex guards all that changes.
type call struct {
	number uint32
	key    string
	// request is the CALL payload without `delivered`.
	request  callJSON
	streamed bool

	head      *head
	pending   [][]byte
	delivered int64
	over      bool
	wake      chan struct{}
}

type callJSON struct {
	Key       string            `json:"key"`
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	Headers   map[string]string `json:"headers"`
	Body      string            `json:"body"`
	Delivered int64             `json:"delivered"`
}

// frame is the CALL as it stands: `delivered` counts the accepted bytes, all of which the harness gets or has.
func (c *call) frame() frame {
	request := c.request
	request.Delivered = c.delivered
	payload, _ := json.Marshal(request)
	return frame{kind: frameCall, call: c.number, payload: payload}
}

func (c *call) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// hopHeaders concern one connection only.
var hopHeaders = map[string]bool{
	"connection": true, "keep-alive": true, "transfer-encoding": true, "content-length": true, "upgrade": true,
	"te": true, "trailer": true, "proxy-connection": true, "date": true,
}

// ServeHTTP passes one request of the harness on and its answer back.
func (h *Hub) ServeHTTP(response http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, maxBodyBytes))
	if err != nil {
		http.Error(response, `{"error":{"message":"request body too large or cut short"}}`, http.StatusRequestEntityTooLarge)
		return
	}
	open := newCall(request, body)
	h.add(open)
	defer h.remove(open)
	answer := &answerWriter{response: response, streamed: open.streamed}
	silence := time.NewTimer(h.KeepAlive)
	defer silence.Stop()
	for {
		select {
		case <-request.Context().Done():
			return
		case <-silence.C:
			answer.keepAlive()
			silence.Reset(h.KeepAlive)
		case <-open.wake:
			first, chunks, over := h.take(open)
			if !answer.write(first, chunks, over) || over {
				return
			}
			silence.Reset(h.KeepAlive)
		}
	}
}

func newCall(request *http.Request, body []byte) *call {
	var random [16]byte
	_, _ = rand.Read(random[:])
	headers := map[string]string{}
	for name, values := range request.Header {
		if lower := strings.ToLower(name); !hopHeaders[lower] {
			headers[lower] = strings.Join(values, ", ")
		}
	}
	var shape struct {
		Stream bool `json:"stream"`
	}
	_ = json.Unmarshal(body, &shape)
	return &call{
		key: hex.EncodeToString(random[:]),
		request: callJSON{
			Key: hex.EncodeToString(random[:]), Method: request.Method, Path: request.URL.RequestURI(), Headers: headers,
			Body: string(body),
		},
		streamed: shape.Stream || strings.Contains(request.Header.Get("Accept"), "text/event-stream"),
		wake:     make(chan struct{}, 1),
	}
}

// answerWriter writes one answer: event streams as they come, anything else at once with its length.
type answerWriter struct {
	response http.ResponseWriter
	streamed bool
	// committed: status and headers are out.
	committed bool
	// early: they went out as an event stream before the runner said what the answer is.
	early bool
	body  bytes.Buffer
	// boundary: the last bytes ended an event, so that a comment may follow.
	tail []byte
}

// write returns false when the harness is gone.
func (a *answerWriter) write(first *head, chunks [][]byte, over bool) bool {
	if first == nil {
		return true
	}
	events := strings.HasPrefix(header(first, "content-type"), "text/event-stream")
	if !events || (a.early && first.Status != http.StatusOK) {
		for _, chunk := range chunks {
			a.body.Write(chunk)
		}
		return !over || a.whole(first)
	}
	if !a.committed {
		a.commit(first)
	}
	for _, chunk := range chunks {
		if _, err := a.response.Write(chunk); err != nil {
			return false
		}
		a.tail = append(a.tail, chunk[max(0, len(chunk)-4):]...)
		a.tail = a.tail[max(0, len(a.tail)-4):]
	}
	return a.flush()
}

// whole writes a complete answer. If an event stream was begun to keep the harness waiting, it ends as an error event.
func (a *answerWriter) whole(first *head) bool {
	if a.early {
		text := strings.NewReplacer("\r", "", "\n", " ").Replace(a.body.String())
		_, err := io.WriteString(a.response, "event: error\ndata: "+text+"\n\n")
		return err == nil && a.flush()
	}
	a.response.Header().Set("Content-Length", strconv.Itoa(a.body.Len()))
	a.commit(first)
	_, err := a.response.Write(a.body.Bytes())
	return err == nil
}

func (a *answerWriter) commit(first *head) {
	for name, value := range first.Headers {
		if !hopHeaders[strings.ToLower(name)] {
			a.response.Header().Set(name, value)
		}
	}
	a.response.WriteHeader(first.Status)
	a.committed = true
}

func (a *answerWriter) keepAlive() {
	if !a.streamed {
		return
	}
	if !a.committed {
		a.commit(&head{Status: http.StatusOK, Headers: map[string]string{
			"content-type": "text/event-stream", "cache-control": "no-cache",
		}})
		a.early = true
	}
	if len(a.tail) > 0 && !bytes.HasSuffix(a.tail, []byte("\n\n")) && !bytes.HasSuffix(a.tail, []byte("\r\n\r\n")) {
		return
	}
	_, _ = io.WriteString(a.response, ": keep-alive\n\n")
	a.flush()
}

func (a *answerWriter) flush() bool {
	return http.NewResponseController(a.response).Flush() == nil
}

func header(first *head, name string) string {
	for key, value := range first.Headers {
		if strings.EqualFold(key, name) {
			return value
		}
	}
	return ""
}
