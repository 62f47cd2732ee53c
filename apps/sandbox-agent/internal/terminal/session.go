//go:build linux

package terminal

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"espalier.dev/espalier/apps/sandbox-agent/internal/jobs"
)

const (
	initLimit     = 10 * time.Second
	drainLimit    = time.Second
	maxFrameBytes = 8 << 20
	outputBytes   = 64 << 10
	// maxPending bounds what a client may send ahead of a program that does not read.
	maxPending = 64 << 20
)

// frame is every frame of the terminal protocol, both ways.
type frame struct {
	Type       string            `json:"type"`
	Command    json.RawMessage   `json:"cmd"`
	Env        map[string]string `json:"env"`
	Cwd        *string           `json:"cwd"`
	Rows       uint16            `json:"rows"`
	Columns    uint16            `json:"cols"`
	LoginShell bool              `json:"login_shell"`
	Data       []byte            `json:"data"`
	Signal     string            `json:"sig"`
}

var signals = map[string]syscall.Signal{
	"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "QUIT": syscall.SIGQUIT,
}

// Serve runs one session on a connection of frames: `u32 BE length, JSON`.
func Serve(connection net.Conn, reader io.Reader, manager *jobs.Manager) {
	session := &session{connection: connection, reader: reader}
	defer connection.Close()
	wanted, command, err := session.init()
	if err != nil {
		session.send(map[string]any{"type": "error", "message": err.Error()})
		return
	}
	near, far, err := open(orDefault(wanted.Rows, 24), orDefault(wanted.Columns, 80))
	if err != nil {
		session.send(map[string]any{"type": "error", "message": err.Error()})
		return
	}
	cwd := ""
	if wanted.Cwd != nil {
		cwd = *wanted.Cwd
	}
	process, err := manager.StartOnTerminal(far, command, cwd, wanted.Env, wanted.LoginShell)
	_ = syscall.Close(far)
	if err != nil {
		near.Close()
		session.refuse(err, command[0])
		return
	}
	session.run(near, process)
}

type session struct {
	connection net.Conn
	reader     io.Reader
	writing    sync.Mutex
}

// init reads the first frame. Its texts are part of the contract.
func (s *session) init() (frame, []string, error) {
	_ = s.connection.SetReadDeadline(time.Now().Add(initLimit))
	text, err := s.receive()
	if err != nil {
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			return frame{}, nil, errors.New("init timeout")
		}
		return frame{}, nil, err
	}
	_ = s.connection.SetReadDeadline(time.Time{})
	var wanted frame
	if !json.Valid(text) {
		return frame{}, nil, fmt.Errorf("bad init frame: %w", json.Unmarshal(text, &wanted))
	}
	if err := json.Unmarshal(text, &wanted); err != nil {
		return frame{}, nil, err
	}
	if wanted.Type != "init" {
		return frame{}, nil, errors.New("bad init frame: first frame must be type=init")
	}
	if wanted.Command == nil {
		return frame{}, nil, errors.New("bad init frame: 'cmd'")
	}
	var command []string
	if err := json.Unmarshal(wanted.Command, &command); err != nil || len(command) == 0 {
		return frame{}, nil, errors.New("bad init frame: cmd must be a non-empty list of strings")
	}
	return wanted, command, nil
}

// refuse tells a failed start as a terminal would show it.
func (s *session) refuse(err error, name string) {
	code, text := 126, "pty_runner: exec failed: "+err.Error()
	if jobs.ExitCodeOf(err) == 127 {
		code, text = 127, "pty_runner: command not found: "+name
	}
	s.send(map[string]any{"type": "ready", "pid": 0})
	s.send(map[string]any{"type": "stdout", "data": []byte(text + "\r\n")})
	s.send(map[string]any{"type": "exit", "code": code})
}

func (s *session) run(near *os.File, process *jobs.TerminalProcess) {
	s.send(map[string]any{"type": "ready", "pid": process.Pid})
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		buffer := make([]byte, outputBytes)
		for {
			count, err := near.Read(buffer)
			if count > 0 && s.send(map[string]any{"type": "stdout", "data": buffer[:count]}) != nil {
				return
			}
			if err != nil {
				return
			}
		}
	}()
	input := newInput(near)
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		s.obey(near, input, process)
	}()
	var status syscall.WaitStatus
	select {
	case status = <-process.Ended:
	case <-gone:
		// Nobody looks any more: hang up, then end what does not care.
		process.HangUp()
		status = <-process.Ended
	}
	select {
	case <-drained:
	case <-time.After(drainLimit):
	}
	code := status.ExitStatus()
	if status.Signaled() {
		code = -int(status.Signal())
	}
	s.send(map[string]any{"type": "exit", "code": code})
	input.close()
	near.Close()
}

// obey handles the client's frames until `close`, or until the connection ends: only then it returns.
func (s *session) obey(near *os.File, input *input, process *jobs.TerminalProcess) {
	closing := false
	for {
		text, err := s.receive()
		if err != nil {
			return
		}
		var received frame
		if closing || json.Unmarshal(text, &received) != nil {
			continue
		}
		switch received.Type {
		case "stdin":
			input.add(received.Data)
		case "resize":
			if received.Rows > 0 && received.Columns > 0 {
				_ = resize(near, received.Rows, received.Columns)
			}
		case "signal":
			signal, known := signals[strings.ToUpper(received.Signal)]
			if !known {
				signal = syscall.SIGTERM
			}
			process.Signal(signal)
		case "close":
			process.Signal(syscall.SIGTERM)
			closing = true
		}
	}
}

func (s *session) receive() ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(s.reader, length[:]); err != nil {
		return nil, err
	}
	count := binary.BigEndian.Uint32(length[:])
	if count > maxFrameBytes {
		return nil, fmt.Errorf("a frame of %d bytes is too large", count)
	}
	text := make([]byte, count)
	_, err := io.ReadFull(s.reader, text)
	return text, err
}

func (s *session) send(value map[string]any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	message := binary.BigEndian.AppendUint32(make([]byte, 0, len(text)+4), uint32(len(text)))
	s.writing.Lock()
	defer s.writing.Unlock()
	_, err = s.connection.Write(append(message, text...))
	return err
}

func orDefault(value, standard uint16) uint16 {
	if value == 0 {
		return standard
	}
	return value
}

// input is written behind the frames' back, so that a program that does not read keeps no later frame from being obeyed.
type input struct {
	mutex   sync.Mutex
	pending []byte
	wake    chan struct{}
	done    chan struct{}
}

func newInput(near *os.File) *input {
	made := &input{wake: make(chan struct{}, 1), done: make(chan struct{})}
	go func() {
		for {
			select {
			case <-made.done:
				return
			case <-made.wake:
			}
			for {
				made.mutex.Lock()
				chunk := made.pending[:min(len(made.pending), 4096)]
				made.pending = made.pending[len(chunk):]
				made.mutex.Unlock()
				if len(chunk) == 0 {
					break
				}
				if _, err := near.Write(chunk); err != nil {
					return
				}
			}
		}
	}()
	return made
}

func (i *input) add(data []byte) {
	i.mutex.Lock()
	if len(i.pending)+len(data) <= maxPending {
		i.pending = append(i.pending, data...)
	}
	i.mutex.Unlock()
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

func (i *input) close() { close(i.done) }
