package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readStream assembles a streamed completion. Comments keep a connection alive and are passed over; a stream that ends
// before it said so is broken, never a shorter answer.
func readStream(body io.Reader) (answer, *endpointError) {
	reader := bufio.NewReaderSize(body, 64*1024)
	building := streamedAnswer{}
	for {
		line, err := reader.ReadString('\n')
		if data, isData := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "data:"); isData && (err == nil || errors.Is(err, io.EOF)) {
			data = strings.TrimSpace(data)
			if data == "[DONE]" {
				return building.finish()
			}
			if failure := building.apply(data); failure != nil {
				return answer{}, failure
			}
		}
		if errors.Is(err, io.EOF) {
			// Some servers end without [DONE]; the finish reason is the end of the answer all the same.
			if building.finishReason != "" {
				return building.finish()
			}
			return answer{}, &endpointError{message: "the stream ended before the answer did", retryable: true, broken: true}
		}
		if err != nil {
			return answer{}, &endpointError{message: fmt.Sprintf("the stream was cut: %v", err), retryable: true, broken: true}
		}
	}
}

type streamedAnswer struct {
	content      *string
	reasoning    *string
	calls        []toolCall
	finishReason string
	usage        usage
	chunks       int
}

func (s *streamedAnswer) apply(data string) *endpointError {
	var chunk chatChunk
	if err := json.Unmarshal([]byte(data), &chunk); err != nil {
		return &endpointError{message: fmt.Sprintf("a chunk of the stream is not JSON: %v", err), retryable: true, broken: true}
	}
	if chunk.Error != nil {
		return &endpointError{
			message: chunk.Error.Message, retryable: !isContextLength(chunk.Error), broken: true, contextLength: isContextLength(chunk.Error),
		}
	}
	s.chunks++
	if chunk.Usage != nil {
		s.usage = *chunk.Usage
	}
	if len(chunk.Choices) == 0 {
		return nil
	}
	choice := chunk.Choices[0]
	s.content = appended(s.content, choice.Delta.Content)
	s.reasoning = appended(s.reasoning, choice.Delta.ReasoningContent)
	for _, part := range choice.Delta.ToolCalls {
		if part.Index < 0 || part.Index > len(s.calls) {
			return &endpointError{message: fmt.Sprintf("the stream skips to tool call %d", part.Index), retryable: true, broken: true}
		}
		if part.Index == len(s.calls) {
			s.calls = append(s.calls, toolCall{})
		}
		call := &s.calls[part.Index]
		if part.ID != "" {
			call.ID = part.ID
		}
		if part.Type != "" {
			call.Type = part.Type
		}
		call.Function.Name += part.Function.Name
		call.Function.Arguments += part.Function.Arguments
	}
	if choice.FinishReason != nil {
		s.finishReason = *choice.FinishReason
	}
	return nil
}

func (s *streamedAnswer) finish() (answer, *endpointError) {
	if s.chunks == 0 {
		return answer{}, &endpointError{message: "the stream has no chunk", retryable: true, broken: true}
	}
	return answer{
		message:      message{Role: "assistant", Content: s.content, ReasoningContent: s.reasoning, ToolCalls: s.calls},
		finishReason: s.finishReason,
		usage:        s.usage,
	}, nil
}

func appended(text, part *string) *string {
	if part == nil {
		return text
	}
	if text == nil {
		first := *part
		return &first
	}
	joined := *text + *part
	return &joined
}
