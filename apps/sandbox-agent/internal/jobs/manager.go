//go:build linux

// Package jobs runs commands: each in a session of its own, once per id, with bounded output and a clean end.
package jobs

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"sort"
	"sync"
	"syscall"
	"time"
)

const (
	// markName is an environment variable that tells a command's processes, wherever they went.
	markName = "ESPALIER_JOB_MARK"

	defaultTimeout     = 300 * time.Second
	defaultOutputBytes = 1 << 20
	maxOutputBytes     = 64 << 20
	// keptOutputBytes bounds the output of all finished jobs; the oldest lose theirs first, never their ids.
	keptOutputBytes = 128 << 20
)

// Manager holds the jobs of a sandbox.
type Manager struct {
	reaper      *Reaper
	workdir     string
	environment map[string]string
	// Grace is the time between TERM and KILL.
	Grace time.Duration

	mutex sync.Mutex
	jobs  map[string]*Job
	order []*Job
}

// NewManager makes a manager whose commands start in workdir with this environment.
func NewManager(reaper *Reaper, workdir string, environment map[string]string) *Manager {
	return &Manager{
		reaper: reaper, workdir: workdir, environment: environment, Grace: 2 * time.Second, jobs: map[string]*Job{},
	}
}

// Start runs the request under the id, or returns the job that the id already has: it never runs twice.
func (m *Manager) Start(id string, request *Request) (*Job, error) {
	var stdin []byte
	if request.StdinBase64 != "" {
		decoded, err := base64.StdEncoding.DecodeString(request.StdinBase64)
		if err != nil {
			return nil, fmt.Errorf("stdin_base64: %w", err)
		}
		stdin = decoded
	}
	limit := request.MaxOutputBytes
	if limit <= 0 {
		limit = defaultOutputBytes
	}
	limit = min(limit, maxOutputBytes)
	timeout := time.Duration(request.TimeoutMs) * time.Millisecond
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	job := &Job{
		id: id, stdout: NewOutput(limit), stderr: NewOutput(limit), started: time.Now(), state: Running,
		done: make(chan struct{}), stop: make(chan State, 1),
	}
	m.mutex.Lock()
	if found, exists := m.jobs[id]; exists {
		m.mutex.Unlock()
		return found, nil
	}
	m.jobs[id] = job
	m.order = append(m.order, job)
	// The budget is a bound on memory, not an exact one: looking at every job for each would cost more.
	if len(m.order)%64 == 0 {
		m.forgetOld()
	}
	m.mutex.Unlock()

	mark := newMark()
	ready, err := m.prepare(request, mark)
	if err != nil {
		job.fail(startError(err, &program{argv: []string{""}}))
		return job, nil
	}
	job.run(m.reaper, ready, stdin, timeout, m.Grace, mark)
	return job, nil
}

// Get finds a job.
func (m *Manager) Get(id string) (*Job, bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	job, found := m.jobs[id]
	return job, found
}

// List is every job, oldest first.
func (m *Manager) List() []*Job {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	return append([]*Job{}, m.order...)
}

// forgetOld drops the output of the oldest finished jobs beyond the budget; callers hold the mutex.
func (m *Manager) forgetOld() {
	total := 0
	for _, job := range m.order {
		total += job.stdout.Kept() + job.stderr.Kept()
	}
	for _, job := range m.order {
		if total <= keptOutputBytes {
			return
		}
		select {
		case <-job.done:
			total -= job.stdout.Forget() + job.stderr.Forget()
		default:
		}
	}
}

func newMark() string {
	var bytes [16]byte
	_, _ = rand.Read(bytes[:])
	return hex.EncodeToString(bytes[:])
}

var signalNames = map[syscall.Signal]string{
	syscall.SIGHUP: "SIGHUP", syscall.SIGINT: "SIGINT", syscall.SIGQUIT: "SIGQUIT", syscall.SIGILL: "SIGILL",
	syscall.SIGTRAP: "SIGTRAP", syscall.SIGABRT: "SIGABRT", syscall.SIGBUS: "SIGBUS", syscall.SIGFPE: "SIGFPE",
	syscall.SIGKILL: "SIGKILL", syscall.SIGUSR1: "SIGUSR1", syscall.SIGSEGV: "SIGSEGV", syscall.SIGUSR2: "SIGUSR2",
	syscall.SIGPIPE: "SIGPIPE", syscall.SIGALRM: "SIGALRM", syscall.SIGTERM: "SIGTERM", syscall.SIGXCPU: "SIGXCPU",
	syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGSYS: "SIGSYS",
}

func signalName(signal syscall.Signal) string {
	if name, known := signalNames[signal]; known {
		return name
	}
	return fmt.Sprintf("SIG%d", int(signal))
}

// sortedViews is used by listings.
func sortedViews(jobs []*Job) []View {
	views := make([]View, len(jobs))
	for index, job := range jobs {
		views[index] = job.View()
	}
	sort.SliceStable(views, func(a, b int) bool { return views[a].StartedAt < views[b].StartedAt })
	return views
}

// Views is every job on the wire, oldest first.
func (m *Manager) Views() []View { return sortedViews(m.List()) }
