// Command mini-agent is an agent with one tool, bash, for any endpoint that speaks OpenAI chat completions.
//
// It is one static binary with no needs of its own, so that it starts in milliseconds in any image. It only ever
// appends to the conversation: every request is the one before it plus what came after, which keeps a recorded
// trajectory a single path.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const version = "1"

// Exit codes, a contract with whoever starts the agent.
const (
	exitSubmitted     = 0 // the model answered without a tool call
	exitCrashed       = 1 // a defect or a missing resource of the agent itself
	exitMaxTurns      = 2 // all turns were used
	exitModelEndpoint = 3 // the model endpoint failed or refused, beyond what retries mend
	exitUsage         = 4 // bad flags, environment or instruction
	exitContextLength = 5 // the endpoint said that the conversation is too long
	exitCancelled     = 6 // SIGTERM or SIGINT
)

const usageText = `mini-agent: an agent with one tool, bash, over OpenAI chat completions.

Usage: mini-agent --model NAME [flags] [< instruction]

Environment:
  OPENAI_BASE_URL  base URL of the endpoint, ending in /v1 (required)
  OPENAI_API_KEY   bearer token (optional); commands are run without either

Flags:
  --model NAME              model to ask for (required)
  --instruction-file FILE   the task; standard input when absent
  --cwd DIR                 where commands run (default: the current directory)
  --max-turns N             most model calls (default 50)
  --command-timeout D       limit of one command, e.g. 90s or 2m (default 120s)
  --max-output-bytes N      longest tool result; the middle of a longer one is left out (default 16384)
  --retry-for D             how long to retry an endpoint that is away (default 15m)
  --stream                  ask for streamed answers
  --log FILE                append a log in JSON lines
  --version                 print the version

The last line on standard output is a JSON object: status, exit_code, turns, tool_calls, finish_reason, usage, message, error.

Exit codes:
  0 submitted: the model answered without a tool call
  1 crashed: a defect or a missing resource of the agent itself
  2 max_turns: all turns were used
  3 model_endpoint: the endpoint failed or refused, beyond what retries mend
  4 usage: bad flags, environment or instruction
  5 context_length: the endpoint said that the conversation is too long
  6 cancelled: SIGTERM or SIGINT
`

type settings struct {
	model           string
	instructionFile string
	cwd             string
	maxTurns        int
	commandTimeout  time.Duration
	maxOutputBytes  int
	retryFor        time.Duration
	stream          bool
	logFile         string
	baseURL         string
	apiKey          string
}

// usageError marks a mistake of whoever started the agent.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	code := run(ctx, os.Args[1:], os.Getenv, os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(
	ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	started := time.Now()
	configured, err := parseSettings(args, getenv, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return exitSubmitted
	}
	outcome := result{}
	if err == nil {
		outcome, err = runConfigured(ctx, configured, stdin, stderr)
	}
	report := finalStatus(ctx, outcome, err, time.Since(started))
	if report.Error != "" {
		fmt.Fprintf(stderr, "mini-agent: %s\n", report.Error)
	}
	line, err := json.Marshal(report)
	if err != nil {
		fmt.Fprintf(stderr, "mini-agent: %v\n", err)
		return exitCrashed
	}
	fmt.Fprintf(stdout, "%s\n", line)
	return report.ExitCode
}

func parseSettings(args []string, getenv func(string) string, stdout io.Writer) (settings, error) {
	var s settings
	showVersion := false
	flags := flag.NewFlagSet("mini-agent", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&s.model, "model", "", "")
	flags.StringVar(&s.instructionFile, "instruction-file", "", "")
	flags.StringVar(&s.cwd, "cwd", "", "")
	flags.IntVar(&s.maxTurns, "max-turns", 50, "")
	flags.DurationVar(&s.commandTimeout, "command-timeout", 120*time.Second, "")
	flags.IntVar(&s.maxOutputBytes, "max-output-bytes", 16*1024, "")
	flags.DurationVar(&s.retryFor, "retry-for", 15*time.Minute, "")
	flags.BoolVar(&s.stream, "stream", false, "")
	flags.StringVar(&s.logFile, "log", "", "")
	flags.BoolVar(&showVersion, "version", false, "")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprint(stdout, usageText)
			return s, flag.ErrHelp
		}
		return s, usageError{err.Error()}
	}
	if showVersion {
		fmt.Fprintf(stdout, "mini-agent %s\n", version)
		return s, flag.ErrHelp
	}
	s.baseURL = strings.TrimRight(getenv("OPENAI_BASE_URL"), "/")
	s.apiKey = getenv("OPENAI_API_KEY")
	switch {
	case flags.NArg() > 0:
		return s, usageError{fmt.Sprintf("unexpected argument %q", flags.Arg(0))}
	case s.model == "":
		return s, usageError{"--model is required"}
	case !strings.HasPrefix(s.baseURL, "http://") && !strings.HasPrefix(s.baseURL, "https://"):
		return s, usageError{"OPENAI_BASE_URL must be an http or https URL, such as http://127.0.0.1:8000/v1"}
	case s.maxTurns < 1:
		return s, usageError{"--max-turns must be at least 1"}
	case s.commandTimeout <= 0:
		return s, usageError{"--command-timeout must be positive"}
	case s.maxOutputBytes < 256:
		return s, usageError{"--max-output-bytes must be at least 256"}
	}
	return s, nil
}

func runConfigured(ctx context.Context, s settings, stdin io.Reader, stderr io.Writer) (result, error) {
	instruction, err := readInstruction(s.instructionFile, stdin)
	if err != nil {
		return result{}, err
	}
	if s.cwd != "" {
		if info, err := os.Stat(s.cwd); err != nil || !info.IsDir() {
			return result{}, usageError{fmt.Sprintf("--cwd %s is not a directory", s.cwd)}
		}
	}
	log, err := openLog(s.logFile)
	if err != nil {
		return result{}, usageError{err.Error()}
	}
	defer log.close()
	shell, err := newShell(s.cwd, s.commandTimeout, s.maxOutputBytes)
	if err != nil {
		return result{}, err
	}
	a := agent{
		client:   newChatClient(s.baseURL, s.apiKey, s.retryFor, log),
		shell:    shell,
		log:      log,
		model:    s.model,
		stream:   s.stream,
		maxTurns: s.maxTurns,
	}
	outcome, err := a.run(ctx, instruction)
	if log.failed() != nil {
		// A full disk must not change what the agent does; it is said once.
		fmt.Fprintf(stderr, "mini-agent: the log is incomplete: %v\n", log.failed())
	}
	return outcome, err
}

// readInstruction returns the text unchanged: the first user message is exactly the instruction.
func readInstruction(file string, stdin io.Reader) (string, error) {
	var content []byte
	var err error
	if file == "" {
		content, err = io.ReadAll(stdin)
	} else {
		content, err = os.ReadFile(file)
	}
	if err != nil {
		return "", usageError{fmt.Sprintf("cannot read the instruction: %v", err)}
	}
	if strings.TrimSpace(string(content)) == "" {
		return "", usageError{"the instruction is empty; give --instruction-file or standard input"}
	}
	return string(content), nil
}

// status is the last line on standard output.
type status struct {
	Status       string `json:"status"`
	ExitCode     int    `json:"exit_code"`
	Turns        int    `json:"turns"`
	ToolCalls    int    `json:"tool_calls"`
	FinishReason string `json:"finish_reason"`
	Usage        usage  `json:"usage"`
	Message      string `json:"message"`
	Error        string `json:"error"`
	DurationMs   int64  `json:"duration_ms"`
}

func finalStatus(ctx context.Context, outcome result, err error, elapsed time.Duration) status {
	report := status{
		Turns:        outcome.turns,
		ToolCalls:    outcome.toolCalls,
		FinishReason: outcome.finishReason,
		Usage:        outcome.usage,
		Message:      elide(outcome.message, 2048),
		DurationMs:   elapsed.Milliseconds(),
	}
	var usage usageError
	var endpoint *endpointError
	switch {
	case err == nil && outcome.submitted:
		report.Status, report.ExitCode = "submitted", exitSubmitted
	case err == nil:
		report.Status, report.ExitCode = "max_turns", exitMaxTurns
	case ctx.Err() != nil:
		report.Status, report.ExitCode, report.Error = "cancelled", exitCancelled, "asked to stop by a signal"
	case errors.As(err, &usage):
		report.Status, report.ExitCode, report.Error = "usage", exitUsage, err.Error()
	case errors.As(err, &endpoint) && endpoint.contextLength:
		report.Status, report.ExitCode, report.Error = "context_length", exitContextLength, err.Error()
	case errors.As(err, &endpoint):
		report.Status, report.ExitCode, report.Error = "model_endpoint", exitModelEndpoint, err.Error()
	default:
		report.Status, report.ExitCode, report.Error = "crashed", exitCrashed, err.Error()
	}
	return report
}
