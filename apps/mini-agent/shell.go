package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// drainGrace is how long output is awaited after a command ended: a child in the background may hold the pipe for ever.
const drainGrace = 200 * time.Millisecond

// shell runs commands, each in a new bash (sh where there is none).
type shell struct {
	path      string
	directory string
	timeout   time.Duration
	maxOutput int
	env       []string
}

func newShell(directory string, timeout time.Duration, maxOutput int) (*shell, error) {
	path, err := exec.LookPath("bash")
	if err != nil {
		if path, err = exec.LookPath("sh"); err != nil {
			return nil, errors.New("there is neither bash nor sh on the PATH")
		}
	}
	return &shell{path: path, directory: directory, timeout: timeout, maxOutput: maxOutput, env: commandEnvironment(os.Environ())}, nil
}

// commandEnvironment is the agent's own without the key to the model: commands are the model's, the key is not.
func commandEnvironment(environment []string) []string {
	var kept []string
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		if name != "OPENAI_API_KEY" && name != "OPENAI_BASE_URL" {
			kept = append(kept, variable)
		}
	}
	return kept
}

// run carries out a command and words its result: what it printed, then how it ended. It never fails; what goes wrong is
// told to the model.
func (s *shell) run(ctx context.Context, command string) string {
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Sprintf("error: %v", err)
	}
	process := exec.Command(s.path, "-c", command)
	process.Dir = s.directory
	process.Env = s.env
	process.Stdout = writer
	process.Stderr = writer
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = process.Start()
	writer.Close()
	if err != nil {
		reader.Close()
		return fmt.Sprintf("error: the command could not be started: %v", err)
	}
	output := newElider(s.maxOutput)
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		defer reader.Close()
		// Goes on after the command ended, so that a process left in the background is not ended by a closed pipe.
		_, _ = output.ReadFrom(reader)
	}()
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	timer := time.NewTimer(s.timeout)
	defer timer.Stop()
	verdict := ""
	select {
	case <-ended:
		verdict = endOf(process.ProcessState)
	case <-timer.C:
		s.kill(process, ended)
		verdict = fmt.Sprintf("timed out after %s; the command was killed", s.timeout)
	case <-ctx.Done():
		s.kill(process, ended)
		verdict = "cancelled"
	}
	select {
	case <-drained:
	case <-time.After(drainGrace):
	}
	text := output.String()
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + verdict + "]"
}

// kill ends the command's whole process group.
func (s *shell) kill(process *exec.Cmd, ended <-chan error) {
	_ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL)
	<-ended
}

func endOf(state *os.ProcessState) string {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return fmt.Sprintf("ended by signal %d", status.Signal())
	}
	return fmt.Sprintf("exit code: %d", state.ExitCode())
}
