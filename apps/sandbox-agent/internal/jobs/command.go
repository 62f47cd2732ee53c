//go:build linux

package jobs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// maxArgument is the kernel's limit of one argument string (MAX_ARG_STRLEN).
const maxArgument = 128 << 10

// Request is what to run: a shell line or an exact argv.
type Request struct {
	Command        *string           `json:"command"`
	Argv           []string          `json:"argv"`
	Cwd            string            `json:"cwd"`
	StrictCwd      bool              `json:"strict_cwd"`
	Env            map[string]string `json:"env"`
	TimeoutMs      int64             `json:"timeout_ms"`
	LoginShell     bool              `json:"login_shell"`
	StdinBase64    string            `json:"stdin_base64"`
	MaxOutputBytes int               `json:"max_output_bytes"`
}

// launchError is a command that could not be started, with the exit code that a shell gives for it.
type launchError struct {
	code    int
	message string
}

func (e *launchError) Error() string { return e.message }

// program is a request made ready to start.
type program struct {
	path string
	argv []string
	dir  string
	env  []string
	// script goes to the shell through a pipe when it is too long for an argument.
	script string
}

// loginPrefix makes a login shell read ~/.bashrc too; -i passes the usual guard in it.
const loginPrefix = "if [ -f ~/.bashrc ]; then . ~/.bashrc; fi; "

func (m *Manager) prepare(request *Request, mark string) (*program, error) {
	if (request.Command == nil) == (len(request.Argv) == 0) {
		return nil, &launchError{126, "give exactly one of command and argv"}
	}
	environment := map[string]string{}
	for _, source := range []map[string]string{m.environment, request.Env} {
		for name, value := range source {
			environment[name] = value
		}
	}
	environment[markName] = mark
	ready := &program{}
	for name, value := range environment {
		entry := name + "=" + value
		if strings.ContainsRune(entry, 0) {
			return nil, &launchError{126, "embedded null byte"}
		}
		ready.env = append(ready.env, entry)
	}
	directory, err := m.directory(request)
	if err != nil {
		return nil, err
	}
	ready.dir = directory
	if request.Command == nil {
		ready.argv = request.Argv
		if request.LoginShell {
			quoted := make([]string, len(request.Argv))
			for index, word := range request.Argv {
				quoted[index] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
			}
			ready.argv = []string{"bash", "--login", "-i", "-c", loginPrefix + strings.Join(quoted, " ")}
		}
	} else {
		shellLine(ready, *request.Command, request.LoginShell)
	}
	for _, word := range append([]string{ready.script}, ready.argv...) {
		if strings.ContainsRune(word, 0) {
			return nil, &launchError{126, "embedded null byte"}
		}
	}
	ready.path, err = lookUp(ready.argv[0], environment["PATH"], ready.dir)
	if err != nil && ready.argv[0] == "bash" && !request.LoginShell {
		// Images without bash have sh.
		if path, missing := lookUp("sh", environment["PATH"], ready.dir); missing == nil {
			ready.path, err = path, nil
			ready.argv[0] = "sh"
		}
	}
	return ready, err
}

func shellLine(ready *program, command string, login bool) {
	if !login && len(command) < maxArgument-1 {
		ready.argv = []string{"bash", "-c", command}
		return
	}
	options := []string{"bash"}
	if login {
		options = append(options, "--login", "-i")
		command = loginPrefix + command
	}
	if len(command) < maxArgument-1 {
		ready.argv = append(options, "-c", command)
		return
	}
	ready.argv = append(options, "/dev/fd/3")
	ready.script = command
}

// directory resolves the working directory. Orchard's rule for a missing one is "/"; strict callers get an error.
func (m *Manager) directory(request *Request) (string, error) {
	directory := request.Cwd
	if directory == "" {
		directory = m.workdir
	}
	if !filepath.IsAbs(directory) {
		directory = filepath.Join(m.workdir, directory)
	}
	if info, err := os.Stat(directory); err == nil && info.IsDir() {
		return directory, nil
	}
	if request.StrictCwd {
		return "", &launchError{126, fmt.Sprintf("working directory %s does not exist", directory)}
	}
	return "/", nil
}

// lookUp finds a program like a shell does: exit code 127 when it is missing, 126 when it cannot be executed.
func lookUp(name, path, directory string) (string, error) {
	candidates := []string{}
	if strings.Contains(name, "/") {
		candidates = append(candidates, name)
	} else {
		for _, folder := range filepath.SplitList(path) {
			candidates = append(candidates, filepath.Join(folder, name))
		}
	}
	failure := &launchError{127, name + ": command not found"}
	for _, candidate := range candidates {
		absolute := candidate
		if !filepath.IsAbs(absolute) {
			absolute = filepath.Join(directory, absolute)
		}
		info, err := os.Stat(absolute)
		if err != nil {
			continue
		}
		if info.IsDir() || info.Mode()&0o111 == 0 {
			failure = &launchError{126, name + ": cannot execute"}
			continue
		}
		return absolute, nil
	}
	return "", failure
}

// startError turns a failed fork or exec into a shell's exit code and text.
func startError(err error, ready *program) *launchError {
	var known *launchError
	switch {
	case errors.As(err, &known):
		return known
	case errors.Is(err, syscall.ENOENT) || errors.Is(err, exec.ErrNotFound):
		return &launchError{127, fmt.Sprintf("%s: command not found", ready.argv[0])}
	case errors.Is(err, syscall.E2BIG):
		return &launchError{126, fmt.Sprintf("%s: argument list too long", ready.argv[0])}
	default:
		return &launchError{126, fmt.Sprintf("%s: %v", ready.argv[0], err)}
	}
}
