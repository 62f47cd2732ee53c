package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// scripted is an endpoint that plays its steps in order and keeps what it was asked.
type scripted struct {
	*httptest.Server
	mu       sync.Mutex
	requests []chatRequest
	headers  []http.Header
	steps    []http.HandlerFunc
}

func newScripted(t *testing.T, steps ...http.HandlerFunc) *scripted {
	t.Helper()
	s := &scripted{steps: steps}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request chatRequest
		if err := json.NewDecoder(r.Body).Decode(&request); err != nil || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("not a chat completion: %s %v", r.URL.Path, err)
		}
		s.mu.Lock()
		n := len(s.requests)
		s.requests = append(s.requests, request)
		s.headers = append(s.headers, r.Header)
		s.mu.Unlock()
		if n >= len(s.steps) {
			http.Error(w, "the script is over", http.StatusNotFound)
			return
		}
		s.steps[n](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func whole(message, finishReason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"choices":[{"message":%s,"finish_reason":%q}],"usage":{"prompt_tokens":10,"completion_tokens":3}}`, message, finishReason)
	}
}

func says(text string) http.HandlerFunc {
	content, _ := json.Marshal(text)
	return whole(fmt.Sprintf(`{"role":"assistant","content":%s}`, content), "stop")
}

func calls(arguments ...string) http.HandlerFunc {
	var list []string
	for i, argument := range arguments {
		quoted, _ := json.Marshal(argument)
		list = append(list, fmt.Sprintf(`{"id":"c%d","type":"function","function":{"name":"bash","arguments":%s}}`, i, quoted))
	}
	return whole(`{"role":"assistant","content":null,"tool_calls":[`+strings.Join(list, ",")+`]}`, "tool_calls")
}

func runs(command string) http.HandlerFunc {
	arguments, _ := json.Marshal(map[string]string{"command": command})
	return calls(string(arguments))
}

func status4xx(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

func streams(chunks ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, chunk := range chunks {
			fmt.Fprint(w, chunk)
		}
	}
}

type outcome struct {
	code   int
	status status
	stderr string
}

func runAgent(t *testing.T, ctx context.Context, baseURL, instruction string, args ...string) outcome {
	t.Helper()
	environment := map[string]string{"OPENAI_BASE_URL": baseURL, "OPENAI_API_KEY": "secret"}
	var stdout, stderr bytes.Buffer
	code := run(ctx, append([]string{"--model", "m"}, args...), func(name string) string { return environment[name] },
		strings.NewReader(instruction), &stdout, &stderr)
	lines := strings.Split(strings.TrimSpace(stdout.String()), "\n")
	o := outcome{code: code, stderr: stderr.String()}
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &o.status); err != nil {
		t.Fatalf("the last line %q is not a status: %v", lines[len(lines)-1], err)
	}
	if o.status.ExitCode != code {
		t.Errorf("status says exit code %d, the process %d", o.status.ExitCode, code)
	}
	return o
}

func lastMessage(s *scripted, request int) message {
	messages := s.requests[request].Messages
	return messages[len(messages)-1]
}
