package main

import (
	"context"
	"encoding/json"
	"fmt"
)

// systemPrompt is fixed: it is part of every recorded prompt, and a changing one would break what they share.
const systemPrompt = "You work on a task in a Linux sandbox through one tool, bash. " +
	"Each call runs in a new shell in the same working directory; files stay, variables do not. " +
	"When the task is done, answer without calling the tool."

const toolName = "bash"

var tools = []tool{{
	Type: "function",
	Function: toolFunction{
		Name:        toolName,
		Description: "Run a command in bash and get what it printed.",
		Parameters: json.RawMessage(
			`{"type":"object","properties":{"command":{"type":"string","description":"The command to run."}},"required":["command"]}`,
		),
	},
}}

type agent struct {
	client   *chatClient
	shell    *shell
	log      *eventLog
	model    string
	stream   bool
	maxTurns int
}

// result is what a run came to, also when it failed half-way.
type result struct {
	submitted    bool
	turns        int
	toolCalls    int
	finishReason string
	message      string
	usage        usage
}

// run converses until the model answers without a tool call or the turns are used. The tool calls of the last turn are
// still carried out: the model decided on them within its budget.
func (a *agent) run(ctx context.Context, instruction string) (result, error) {
	var r result
	messages := []message{
		{Role: "system", Content: &systemPromptText},
		{Role: "user", Content: &instruction},
	}
	a.log.write("start", map[string]any{"version": version, "model": a.model, "max_turns": a.maxTurns, "stream": a.stream})
	for r.turns < a.maxTurns {
		request := chatRequest{Model: a.model, Messages: messages, Tools: tools, Stream: a.stream}
		answer, err := a.client.complete(ctx, request, r.turns+1)
		if err != nil {
			a.log.write("end", map[string]any{"status": "error", "error": err.Error()})
			return r, err
		}
		r.turns++
		r.finishReason = answer.finishReason
		r.message = answer.message.text()
		r.usage.add(answer.usage)
		nameCalls(answer.message.ToolCalls, r.turns)
		a.log.write("assistant", map[string]any{
			"turn": r.turns, "message": answer.message, "finish_reason": answer.finishReason, "usage": answer.usage,
		})
		messages = append(messages, answer.message)
		if len(answer.message.ToolCalls) == 0 {
			r.submitted = true
			a.log.write("end", map[string]any{"status": "submitted", "turns": r.turns})
			return r, nil
		}
		for _, call := range answer.message.ToolCalls {
			content := a.answerCall(ctx, call)
			if ctx.Err() != nil {
				return r, ctx.Err()
			}
			r.toolCalls++
			a.log.write("tool", map[string]any{"turn": r.turns, "tool_call_id": call.ID, "content": content})
			messages = append(messages, message{Role: "tool", Content: &content, ToolCallID: call.ID})
		}
	}
	a.log.write("end", map[string]any{"status": "max_turns", "turns": r.turns})
	return r, nil
}

var systemPromptText = systemPrompt

// answerCall runs a tool call. A call that cannot be understood is answered with the reason, for the model to mend:
// running something else in its place would reward what it did not write.
func (a *agent) answerCall(ctx context.Context, call toolCall) string {
	if call.Function.Name != toolName {
		return fmt.Sprintf("error: there is no tool %q; the only tool is %s", call.Function.Name, toolName)
	}
	command, err := parseArguments(call.Function.Arguments)
	if err != nil {
		return fmt.Sprintf("error: %v; expected {\"command\": string}", err)
	}
	return a.shell.run(ctx, command)
}

func parseArguments(arguments string) (string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(arguments), &fields); err != nil {
		return "", fmt.Errorf("the arguments are not a JSON object: %w", err)
	}
	raw, ok := fields["command"]
	if !ok {
		return "", fmt.Errorf("the arguments have no \"command\"")
	}
	var command *string
	if err := json.Unmarshal(raw, &command); err != nil || command == nil {
		return "", fmt.Errorf("\"command\" is not a string")
	}
	if *command == "" {
		return "", fmt.Errorf("\"command\" is empty")
	}
	return *command, nil
}

// nameCalls gives an id to calls that came without one; the answers need something to refer to.
func nameCalls(calls []toolCall, turn int) {
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_%d_%d", turn, i)
		}
		if calls[i].Type == "" {
			calls[i].Type = "function"
		}
	}
}
