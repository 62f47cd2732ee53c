package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	firstBackOff = 100 * time.Millisecond
	maxBackOff   = 5 * time.Second
	// A garbled or cut answer is asked for again this often; an endpoint that is away is waited for by time instead.
	maxBrokenAnswers = 4
	maxErrorBody     = 64 * 1024
)

// answer is one completed model call.
type answer struct {
	message      message
	finishReason string
	usage        usage
}

// endpointError says that the endpoint failed or refused.
type endpointError struct {
	message       string
	retryable     bool
	broken        bool // it answered, but not with a completion
	contextLength bool
	retryAfter    time.Duration
}

func (e *endpointError) Error() string { return e.message }

// chatClient waits for answers as long as they take: behind the endpoint may be a queue, a pause for new weights, or a
// change of the process that serves it.
type chatClient struct {
	http     *http.Client
	url      string
	apiKey   string
	session  string
	retryFor time.Duration
	log      *eventLog
}

func newChatClient(baseURL, apiKey string, retryFor time.Duration, log *eventLog) *chatClient {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 15 * time.Second}).DialContext
	transport.ForceAttemptHTTP2 = false
	var id [8]byte
	// crypto/rand does not fail on any system the agent runs on.
	_, _ = rand.Read(id[:])
	return &chatClient{
		http:     &http.Client{Transport: transport},
		url:      baseURL + "/chat/completions",
		apiKey:   apiKey,
		session:  hex.EncodeToString(id[:]),
		retryFor: retryFor,
		log:      log,
	}
}

// complete makes one model call, with retries. All tries of a call carry the same Idempotency-Key.
func (c *chatClient) complete(ctx context.Context, request chatRequest, turn int) (answer, error) {
	if request.Stream {
		request.StreamOptions = &streamOptions{IncludeUsage: true}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return answer{}, err
	}
	key := fmt.Sprintf("mini-%s-%d", c.session, turn)
	var awaySince time.Time
	broken := 0
	backOff := firstBackOff
	for try := 0; ; try++ {
		got, failure := c.try(ctx, body, key, try, request.Stream)
		if failure == nil {
			return got, nil
		}
		if ctx.Err() != nil {
			return answer{}, ctx.Err()
		}
		if awaySince.IsZero() {
			awaySince = time.Now()
		}
		if failure.broken {
			broken++
		}
		if !failure.retryable || broken >= maxBrokenAnswers || time.Since(awaySince) >= c.retryFor {
			return answer{}, failure
		}
		wait := max(backOff, min(failure.retryAfter, time.Minute))
		c.log.write("retry", map[string]any{"turn": turn, "try": try + 1, "wait_ms": wait.Milliseconds(), "error": failure.message})
		select {
		case <-ctx.Done():
			return answer{}, ctx.Err()
		case <-time.After(wait):
		}
		backOff = min(backOff*2, maxBackOff)
	}
}

func (c *chatClient) try(ctx context.Context, body []byte, key string, try int, stream bool) (answer, *endpointError) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, &endpointError{message: err.Error()}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	if stream {
		request.Header.Set("Accept", "text/event-stream")
	}
	request.Header.Set("User-Agent", "espalier-mini-agent/"+version)
	request.Header.Set("Idempotency-Key", key)
	if try > 0 {
		request.Header.Set("X-Stainless-Retry-Count", strconv.Itoa(try))
	}
	if c.apiKey != "" {
		request.Header.Set("Authorization", "Bearer "+c.apiKey)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return answer{}, &endpointError{message: fmt.Sprintf("no answer from %s: %v", c.url, errors.Unwrap(err)), retryable: true}
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return answer{}, refusal(response)
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return readStream(response.Body)
	}
	return readWhole(response.Body)
}

func readWhole(body io.Reader) (answer, *endpointError) {
	content, err := io.ReadAll(body)
	if err != nil {
		return answer{}, &endpointError{message: fmt.Sprintf("the answer was cut: %v", err), retryable: true, broken: true}
	}
	var parsed chatResponse
	if err := json.Unmarshal(content, &parsed); err != nil {
		return answer{}, &endpointError{message: fmt.Sprintf("the answer is not a completion: %v", err), retryable: true, broken: true}
	}
	if parsed.Error != nil {
		return answer{}, &endpointError{message: parsed.Error.Message, retryable: true, broken: true, contextLength: isContextLength(parsed.Error)}
	}
	if len(parsed.Choices) == 0 {
		return answer{}, &endpointError{message: "the answer has no choice", retryable: true, broken: true}
	}
	choice := parsed.Choices[0]
	choice.Message.Role = "assistant"
	choice.Message.ToolCallID = ""
	got := answer{message: choice.Message, finishReason: choice.FinishReason}
	if parsed.Usage != nil {
		got.usage = *parsed.Usage
	}
	return got, nil
}

// refusal reads an answer with another status than 200.
func refusal(response *http.Response) *endpointError {
	// A body that cannot be read leaves the status, which is enough.
	content, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBody))
	failure := &endpointError{}
	switch status := response.StatusCode; {
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests, status >= 500:
		failure.retryable = true
	}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		failure.retryAfter = time.Duration(seconds) * time.Second
	}
	var parsed chatResponse
	text := strings.TrimSpace(string(content))
	if json.Unmarshal(content, &parsed) == nil && parsed.Error != nil {
		text = parsed.Error.Message
		failure.contextLength = !failure.retryable && isContextLength(parsed.Error)
	}
	failure.message = fmt.Sprintf("the endpoint answered %s: %s", response.Status, elide(text, 1024))
	return failure
}

// isContextLength recognises what OpenAI, vLLM and SGLang say when a prompt does not fit.
func isContextLength(e *apiError) bool {
	if strings.Contains(string(e.Code), "context_length_exceeded") || e.Type == "context_length_exceeded" {
		return true
	}
	message := strings.ToLower(e.Message)
	return strings.Contains(message, "maximum context length") || strings.Contains(message, "longer than the model's context")
}
