//go:build linux

package jobs

import (
	"errors"
	"syscall"
)

// TerminalProcess is a program on a terminal.
type TerminalProcess struct {
	Pid     int
	Ended   <-chan syscall.WaitStatus
	tree    tree
	manager *Manager
}

// StartOnTerminal runs an exact argv with the descriptor as its controlling terminal. The process leads a session of its
// own before this returns, so that a signal sent at once reaches it and nothing else.
func (m *Manager) StartOnTerminal(
	terminal int, argv []string, cwd string, env map[string]string, login bool,
) (*TerminalProcess, error) {
	mark := newMark()
	request := &Request{Argv: argv, Cwd: cwd, Env: map[string]string{}, LoginShell: login}
	for name, value := range env {
		request.Env[name] = value
	}
	if _, given := request.Env["TERM"]; !given {
		if _, given := m.environment["TERM"]; !given {
			request.Env["TERM"] = "xterm-256color"
		}
	}
	ready, err := m.prepare(request, mark)
	if err != nil {
		return nil, err
	}
	pid, ended, err := m.reaper.Start(func() (int, error) {
		return syscall.ForkExec(ready.path, ready.argv, &syscall.ProcAttr{
			Dir: ready.dir, Env: ready.env,
			Files: []uintptr{uintptr(terminal), uintptr(terminal), uintptr(terminal)},
			Sys:   &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
		})
	})
	if err != nil {
		return nil, startError(err, ready)
	}
	return &TerminalProcess{pid, ended, tree{pid, []byte(markName + "=" + mark)}, m}, nil
}

// Signal reaches the program's process group.
func (p *TerminalProcess) Signal(signal syscall.Signal) { _ = syscall.Kill(-p.Pid, signal) }

// HangUp ends the program and all that it started.
func (p *TerminalProcess) HangUp() {
	p.Signal(syscall.SIGHUP)
	p.tree.kill(p.manager.Grace)
}

// ExitCodeOf is a shell's exit code for a program that could not be started.
func ExitCodeOf(err error) int {
	var known *launchError
	if errors.As(err, &known) {
		return known.code
	}
	return 126
}
