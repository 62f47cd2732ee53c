package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestConversesUntilTheModelAnswersWithoutACall(t *testing.T) {
	directory := t.TempDir()
	server := newScripted(t, runs("echo one > f; cat f"), runs("pwd"), says("done"))
	instruction := "  Fix it.\n\nKeep <this> & that.\n"
	log := filepath.Join(directory, "logs", "mini.jsonl")
	got := runAgent(t, t.Context(), server.URL+"/v1", instruction, "--cwd", directory, "--log", log)

	if got.code != exitSubmitted || got.status.Turns != 3 || got.status.ToolCalls != 2 || got.status.Message != "done" {
		t.Errorf("got %+v", got)
	}
	if got.status.Usage.PromptTokens != 30 || got.status.Usage.CompletionTokens != 9 {
		t.Errorf("usage is %+v", got.status.Usage)
	}
	first := server.requests[0].Messages
	if len(first) != 2 || first[0].Role != "system" || first[1].Role != "user" || first[1].text() != instruction {
		t.Errorf("the first request has the messages %+v", first)
	}
	if answer := lastMessage(server, 1); answer.Role != "tool" || answer.ToolCallID != "c0" || answer.text() != "one\n[exit code: 0]" {
		t.Errorf("the tool answered %+v", answer)
	}
	for i := 1; i < len(server.requests); i++ {
		before, _ := json.Marshal(server.requests[i-1].Messages)
		after, _ := json.Marshal(server.requests[i].Messages)
		if !bytes.HasPrefix(after, before[:len(before)-1]) {
			t.Errorf("request %d does not continue the one before it", i)
		}
	}
	if server.headers[0].Get("Authorization") != "Bearer secret" {
		t.Errorf("authorization is %q", server.headers[0].Get("Authorization"))
	}
	logged, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for line := range strings.Lines(string(logged)) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("the log line %q is not JSON", line)
		}
		kinds = append(kinds, event["type"].(string))
	}
	if strings.Join(kinds, " ") != "start assistant tool assistant tool assistant end" {
		t.Errorf("the log has %v", kinds)
	}
}

func TestAnswersParallelCallsInOrder(t *testing.T) {
	server := newScripted(t, calls(`{"command":"echo a"}`, `{"command":"echo b"}`), says("done"))
	runAgent(t, t.Context(), server.URL+"/v1", "x")
	messages := server.requests[1].Messages
	if messages[3].ToolCallID != "c0" || messages[4].ToolCallID != "c1" || messages[4].text() != "b\n[exit code: 0]" {
		t.Errorf("got %+v", messages[3:])
	}
}

func TestToldWhatIsWrongWithACall(t *testing.T) {
	tests := map[string]string{
		`{"command": "echo`:    "not a JSON object",
		`"echo"`:               "not a JSON object",
		`{}`:                   `no "command"`,
		``:                     "not a JSON object",
		`{"command": 3}`:       "not a string",
		`{"command": null}`:    "not a string",
		`{"command": ""}`:      "is empty",
		`{"cmd": "echo hurt"}`: `no "command"`,
	}
	for arguments, want := range tests {
		server := newScripted(t, calls(arguments), says("done"))
		got := runAgent(t, t.Context(), server.URL+"/v1", "x")
		text := lastMessage(server, 1).text()
		if got.code != exitSubmitted || !strings.HasPrefix(text, "error:") || !strings.Contains(text, want) {
			t.Errorf("%s: the model was told %q", arguments, text)
		}
	}
}

func TestUnknownToolIsAnError(t *testing.T) {
	server := newScripted(t, whole(`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"python","arguments":"{}"}}]}`, "tool_calls"), says("done"))
	runAgent(t, t.Context(), server.URL+"/v1", "x")
	if text := lastMessage(server, 1).text(); !strings.Contains(text, `no tool "python"`) {
		t.Errorf("the model was told %q", text)
	}
}

func TestEndsWhenTheTurnsAreUsed(t *testing.T) {
	directory := t.TempDir()
	server := newScripted(t, runs("echo 1 >> f"), runs("echo 2 >> f"))
	got := runAgent(t, t.Context(), server.URL+"/v1", "x", "--cwd", directory, "--max-turns", "2")
	if got.code != exitMaxTurns || got.status.Status != "max_turns" || len(server.requests) != 2 {
		t.Errorf("got %+v after %d requests", got, len(server.requests))
	}
	if content, _ := os.ReadFile(filepath.Join(directory, "f")); string(content) != "1\n2\n" {
		t.Errorf("the last turn's command was not carried out: %q", content)
	}
}

func TestStreamedAnswersAreAssembled(t *testing.T) {
	server := newScripted(t,
		streams(
			": keep-alive\n\n",
			"data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"I \"}}]}\n\n",
			"data: {\"choices\":[{\"delta\":{\"content\":\"look\"}}]}\n\n",
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"a\",\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"\"}}]}}]}\r\n\r\n",
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"command\\\":\"}}]}}]}\n\n",
			": keep-alive\n\n",
			"data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"\\\"echo hi\\\"}\"}}]}}]}\n\n",
			"data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
			"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\n\n",
			"data: [DONE]\n\n"),
		streams("data: {\"choices\":[{\"delta\":{\"content\":\"done\"},\"finish_reason\":\"stop\"}]}\n\n", "data: [DONE]\n\n"))
	got := runAgent(t, t.Context(), server.URL+"/v1", "x", "--stream")
	if got.code != exitSubmitted || got.status.Usage.PromptTokens != 7 {
		t.Errorf("got %+v", got)
	}
	messages := server.requests[1].Messages
	if messages[2].text() != "I look" || messages[2].ToolCalls[0].ID != "a" || messages[3].text() != "hi\n[exit code: 0]" {
		t.Errorf("got %+v", messages[2:])
	}
	if !server.requests[0].Stream || server.requests[0].StreamOptions == nil {
		t.Error("no stream was asked for")
	}
}

func TestACutStreamIsAskedForAgainUnderTheSameKey(t *testing.T) {
	server := newScripted(t,
		streams("data: {\"choices\":[{\"delta\":{\"content\":\"hal\"}}]}\n\n"),
		streams("data: {\"choices\":[{\"delta\":{\"content\":\"whole\"},\"finish_reason\":\"stop\"}]}\n\n", "data: [DONE]\n\n"))
	got := runAgent(t, t.Context(), server.URL+"/v1", "x", "--stream")
	if got.code != exitSubmitted || got.status.Message != "whole" {
		t.Errorf("got %+v", got)
	}
	first, second := server.headers[0].Get("Idempotency-Key"), server.headers[1].Get("Idempotency-Key")
	if first == "" || first != second {
		t.Errorf("the tries had the keys %q and %q", first, second)
	}
}

func TestABusyEndpointIsRetried(t *testing.T) {
	server := newScripted(t, status4xx(503, "busy"), status4xx(429, `{"error":{"message":"slow down"}}`), says("done"))
	if got := runAgent(t, t.Context(), server.URL+"/v1", "x"); got.code != exitSubmitted || got.status.Turns != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestAnEndpointThatIsAwayIsWaitedFor(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	server := newScripted(t, says("done"))
	waiting := make(chan struct{})
	log := filepath.Join(t.TempDir(), "log")
	go func() {
		defer close(waiting)
		// Opens only once the agent was refused.
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if content, _ := os.ReadFile(log); bytes.Contains(content, []byte(`"retry"`)) {
				break
			}
		}
		if reopened, err := net.Listen("tcp", address); err == nil {
			go http.Serve(reopened, server.Config.Handler)
			t.Cleanup(func() { reopened.Close() })
		}
	}()
	got := runAgent(t, t.Context(), "http://"+address+"/v1", "x", "--log", log)
	<-waiting
	if got.code != exitSubmitted {
		t.Errorf("got %+v", got)
	}
}

func TestEndpointFailures(t *testing.T) {
	tests := []struct {
		name string
		step http.HandlerFunc
		code int
		says string
	}{
		{"refused", status4xx(401, `{"error":{"message":"bad token","code":null}}`), exitModelEndpoint, "bad token"},
		{"not found", status4xx(404, "nothing here"), exitModelEndpoint, "nothing here"},
		{"too long, OpenAI", status4xx(400, `{"error":{"message":"no","code":"context_length_exceeded"}}`), exitContextLength, "no"},
		{"too long, vLLM", status4xx(400, `{"error":{"message":"This model's maximum context length is 10 tokens.","code":400}}`), exitContextLength, "maximum"},
	}
	for _, test := range tests {
		server := newScripted(t, test.step)
		got := runAgent(t, t.Context(), server.URL+"/v1", "x")
		if got.code != test.code || !strings.Contains(got.status.Error, test.says) || len(server.requests) != 1 {
			t.Errorf("%s: got %+v after %d requests", test.name, got, len(server.requests))
		}
	}
}

func TestAnswersThatAreNoCompletionEndTheRun(t *testing.T) {
	garbage := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }
	server := newScripted(t, garbage, garbage, garbage, garbage)
	got := runAgent(t, t.Context(), server.URL+"/v1", "x")
	if got.code != exitModelEndpoint || len(server.requests) != maxBrokenAnswers {
		t.Errorf("got %+v after %d requests", got, len(server.requests))
	}
}

func TestGivesUpOnAnEndpointThatStaysAway(t *testing.T) {
	got := runAgent(t, t.Context(), "http://127.0.0.1:1/v1", "x", "--retry-for", "1ms")
	if got.code != exitModelEndpoint || !strings.Contains(got.status.Error, "refused") {
		t.Errorf("got %+v", got)
	}
}

func TestCancelledWhileACommandRuns(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	directory := t.TempDir()
	server := newScripted(t, runs("touch started; sleep 600"))
	go func() {
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if _, err := os.Stat(filepath.Join(directory, "started")); err == nil {
				break
			}
		}
		cancel()
	}()
	if got := runAgent(t, ctx, server.URL+"/v1", "x", "--cwd", directory); got.code != exitCancelled || got.status.Status != "cancelled" {
		t.Errorf("got %+v", got)
	}
}

func TestUsageMistakes(t *testing.T) {
	tests := [][]string{{"--max-turns", "0"}, {"--nonsense"}, {"surplus"}, {"--cwd", "/nowhere/at/all"}, {"--command-timeout", "0s"}, {"--instruction-file", "/nowhere"}}
	for _, args := range tests {
		if got := runAgent(t, t.Context(), "http://127.0.0.1:1/v1", "x", args...); got.code != exitUsage {
			t.Errorf("%v: got %+v", args, got)
		}
	}
	if got := runAgent(t, t.Context(), "127.0.0.1:1", "x"); got.code != exitUsage {
		t.Errorf("a base URL without a scheme: got %+v", got)
	}
	if got := runAgent(t, t.Context(), "http://127.0.0.1:1/v1", " \n"); got.code != exitUsage {
		t.Errorf("an empty instruction: got %+v", got)
	}
}

func TestHelpAndVersion(t *testing.T) {
	var stdout bytes.Buffer
	none := func(string) string { return "" }
	if code := run(t.Context(), []string{"--help"}, none, strings.NewReader(""), &stdout, io.Discard); code != 0 || stdout.String() != usageText {
		t.Errorf("--help ended with %d and printed %q", code, stdout.String())
	}
	stdout.Reset()
	if code := run(t.Context(), []string{"--version"}, none, strings.NewReader(""), &stdout, io.Discard); code != 0 || stdout.String() != "mini-agent "+version+"\n" {
		t.Errorf("--version ended with %d and printed %q", code, stdout.String())
	}
}
