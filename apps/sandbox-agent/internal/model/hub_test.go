package model

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// runner is the far end of a stream.
type runner struct {
	t          *testing.T
	connection net.Conn
	done       chan struct{}
}

func dial(t *testing.T, hub *Hub, epoch int64) *runner {
	t.Helper()
	if err := hub.Admit(epoch); err != nil {
		t.Fatal(err)
	}
	near, far := net.Pipe()
	made := &runner{t, far, make(chan struct{})}
	go func() {
		hub.Serve(near, near, epoch)
		close(made.done)
	}()
	t.Cleanup(func() { far.Close() })
	return made
}

func (r *runner) read() frame {
	r.t.Helper()
	_ = r.connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	received, err := readFrame(r.connection)
	if err != nil {
		r.t.Fatal(err)
	}
	return received
}

func (r *runner) call() (uint32, callJSON) {
	r.t.Helper()
	received := r.read()
	var parsed callJSON
	if err := json.Unmarshal(received.payload, &parsed); err != nil || received.kind != frameCall {
		r.t.Fatalf("frame %d %q: %v", received.kind, received.payload, err)
	}
	return received.call, parsed
}

func (r *runner) send(kind byte, call uint32, payload string) {
	r.t.Helper()
	_ = r.connection.SetWriteDeadline(time.Now().Add(10 * time.Second))
	if _, err := r.connection.Write(frame{kind, call, []byte(payload)}.encode()); err != nil {
		r.t.Fatal(err)
	}
}

func (r *runner) answer(call uint32, contentType, body string) {
	r.t.Helper()
	r.send(frameHead, call, `{"status":200,"headers":{"content-type":"`+contentType+`"}}`)
	r.send(frameData, call, body)
	r.send(frameEnd, call, "")
}

// harness asks and gives the answer when it is whole.
func harness(t *testing.T, server *httptest.Server, body string) <-chan string {
	t.Helper()
	answers := make(chan string, 1)
	go func() {
		response, err := http.Post(server.URL+"/v1/x", "application/json", strings.NewReader(body))
		if err != nil {
			answers <- err.Error()
			return
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			text = append(text, err.Error()...)
		}
		answers <- string(text)
	}()
	return answers
}

func expect(t *testing.T, answers <-chan string, want string) {
	t.Helper()
	select {
	case got := <-answers:
		if got != want {
			t.Fatalf("the harness got %q, not %q", got, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the harness got no answer")
	}
}

func served(t *testing.T) (*Hub, *httptest.Server) {
	t.Helper()
	hub := NewHub()
	server := httptest.NewServer(hub)
	t.Cleanup(server.Close)
	return hub, server
}

func TestHeldCallsGoToTheFirstRunner(t *testing.T) {
	hub, server := served(t)
	answers := harness(t, server, `{"a":1}`)
	for len(hub.held()) == 0 {
		time.Sleep(time.Millisecond)
	}
	current := dial(t, hub, 1)
	number, call := current.call()
	if call.Body != `{"a":1}` || call.Path != "/v1/x" || call.Key == "" || call.Delivered != 0 {
		t.Fatalf("call %+v", call)
	}
	current.answer(number, "application/json", "{}")
	expect(t, answers, "{}")
}

func TestTheNextRunnerGoesOnAtTheByte(t *testing.T) {
	hub, server := served(t)
	first := dial(t, hub, 1)
	answers := harness(t, server, `{"stream":true}`)
	number, call := first.call()
	first.send(frameHead, number, `{"status":200,"headers":{"content-type":"text/event-stream"}}`)
	first.send(frameData, number, "data: one\n\nda")
	// A frame after it proves that the data has been taken.
	first.send(framePing, 0, "")
	if first.read().kind != framePong {
		t.Fatal("no pong")
	}
	second := dial(t, hub, 2)
	again, resumed := second.call()
	if again != number || resumed.Key != call.Key || resumed.Delivered != 13 {
		t.Fatalf("resumed as %d %+v", again, resumed)
	}
	<-first.done
	second.answer(number, "text/event-stream", "ta: two\n\n")
	expect(t, answers, "data: one\n\ndata: two\n\n")
}

func TestACallWithAnEndIsNotAskedAgain(t *testing.T) {
	hub, server := served(t)
	first := dial(t, hub, 1)
	answers := harness(t, server, `{}`)
	number, _ := first.call()
	first.answer(number, "application/json", "done")
	expect(t, answers, "done")
	second := dial(t, hub, 1)
	other := harness(t, server, `{"second":1}`)
	_, call := second.call()
	if call.Body != `{"second":1}` {
		t.Fatalf("asked again: %+v", call)
	}
	second.connection.Close()
	<-second.done
	third := dial(t, hub, 5)
	number, _ = third.call()
	third.answer(number, "application/json", "late")
	expect(t, other, "late")
}

func TestLowerEpochsAreRefused(t *testing.T) {
	hub, _ := served(t)
	dial(t, hub, 7)
	if err := hub.Admit(6); err != ErrStale {
		t.Fatalf("epoch 6 after 7 gave %v", err)
	}
	if err := hub.Admit(7); err != nil {
		t.Fatalf("the same epoch gave %v", err)
	}
}

func TestTheRunnerHearsOfAHarnessThatWentAway(t *testing.T) {
	hub, server := served(t)
	current := dial(t, hub, 1)
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(connection, "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}")
	number, _ := current.call()
	connection.Close()
	if aborted := current.read(); aborted.kind != frameAbort || aborted.call != number {
		t.Fatalf("frame %+v", aborted)
	}
}

func TestKeepAliveOfStreamedCalls(t *testing.T) {
	hub, server := served(t)
	hub.KeepAlive = 20 * time.Millisecond
	response, err := http.Post(server.URL, "application/json", strings.NewReader(`{"stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	buffer := make([]byte, 14)
	if _, err := io.ReadFull(response.Body, buffer); err != nil || string(buffer) != ": keep-alive\n\n" {
		t.Fatalf("%q %v", buffer, err)
	}
	current := dial(t, hub, 1)
	number, call := current.call()
	if call.Delivered != 0 {
		t.Fatalf("comments count as delivered: %+v", call)
	}
	current.send(frameHead, number, `{"status":429,"headers":{"content-type":"application/json"}}`)
	current.send(frameData, number, "{\"error\":\n\"slow\"}")
	current.send(frameEnd, number, "")
	rest, _ := io.ReadAll(response.Body)
	if !bytes.HasSuffix(rest, []byte("event: error\ndata: {\"error\": \"slow\"}\n\n")) {
		t.Fatalf("the status after a begun stream became %q", rest)
	}
}

func TestUnstreamedAnswersHaveALength(t *testing.T) {
	hub, server := served(t)
	current := dial(t, hub, 1)
	lengths := make(chan int64, 1)
	go func() {
		response, err := http.Post(server.URL, "application/json", strings.NewReader(`{}`))
		if err != nil {
			lengths <- -1
			return
		}
		response.Body.Close()
		lengths <- response.ContentLength
	}()
	number, _ := current.call()
	current.answer(number, "application/json", "12345")
	if got := <-lengths; got != 5 {
		t.Fatalf("length %d", got)
	}
}

// held lists the calls that wait for an end.
func (h *Hub) held() []uint32 {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	numbers := []uint32{}
	for number, open := range h.calls {
		if !open.over {
			numbers = append(numbers, number)
		}
	}
	return numbers
}
