//go:build linux

package jobs

import (
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// State of a job.
type State string

// States of a job; all but Running are final.
const (
	Running   State = "running"
	Exited    State = "exited"
	TimedOut  State = "timed_out"
	Cancelled State = "cancelled"
)

// Job is one command, started once under its id.
type Job struct {
	id      string
	stdout  *Output
	stderr  *Output
	started time.Time
	done    chan struct{}
	// stop carries the state that a forced end gives.
	stop chan State

	mutex    sync.Mutex
	state    State
	exitCode *int
	signal   string
	ended    *time.Time
	failure  string
}

// View is a Job on the wire.
type View struct {
	JobID     string     `json:"job_id"`
	State     State      `json:"state"`
	ExitCode  *int       `json:"exit_code"`
	Signal    *string    `json:"signal"`
	StartedAt int64      `json:"started_at"`
	EndedAt   *int64     `json:"ended_at"`
	Error     *string    `json:"error"`
	Stdout    OutputView `json:"stdout"`
	Stderr    OutputView `json:"stderr"`
}

// View is the job as it is now.
func (j *Job) View() View {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	view := View{
		JobID: j.id, State: j.state, ExitCode: j.exitCode, StartedAt: j.started.UnixMilli(),
		Stdout: j.stdout.View(), Stderr: j.stderr.View(),
	}
	if j.signal != "" {
		view.Signal = &j.signal
	}
	if j.failure != "" {
		view.Error = &j.failure
	}
	if j.ended != nil {
		milliseconds := j.ended.UnixMilli()
		view.EndedAt = &milliseconds
	}
	return view
}

// Done is closed when the job has its final state.
func (j *Job) Done() <-chan struct{} { return j.done }

// Cancel ends the job's tree unless it is over.
func (j *Job) Cancel() {
	select {
	case j.stop <- Cancelled:
	default:
	}
}

// fail finishes a job that never started.
func (j *Job) fail(failure *launchError) {
	j.stderr.Write([]byte(failure.message + "\n"))
	j.finish(Exited, &failure.code, "", failure.message)
}

func (j *Job) finish(state State, exitCode *int, signal, failure string) {
	j.stdout.Close()
	j.stderr.Close()
	now := time.Now()
	j.mutex.Lock()
	j.state, j.exitCode, j.signal, j.failure, j.ended = state, exitCode, signal, failure, &now
	j.mutex.Unlock()
	close(j.done)
}

// run starts the program and returns; the job goes on by itself.
func (j *Job) run(reaper *Reaper, ready *program, stdin []byte, timeout, grace time.Duration, mark string) {
	files, pumps, feeds, err := openFiles(j, ready, stdin)
	if err != nil {
		j.fail(startError(err, ready))
		return
	}
	pid, ended, err := reaper.Start(func() (int, error) {
		return syscall.ForkExec(ready.path, ready.argv, &syscall.ProcAttr{
			Dir: ready.dir, Env: ready.env, Files: files, Sys: &syscall.SysProcAttr{Setsid: true},
		})
	})
	for _, descriptor := range files {
		_ = syscall.Close(int(descriptor))
	}
	for _, pump := range pumps {
		go pump.run()
	}
	for _, feed := range feeds {
		if err != nil {
			feed.writer.Close()
			continue
		}
		go feed.run()
	}
	if err != nil {
		j.fail(startError(err, ready))
		return
	}
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("0"), 0o644)
	go j.supervise(tree{pid, []byte(markName + "=" + mark)}, ended, pumps, timeout, grace)
}

func (j *Job) supervise(tree tree, ended <-chan syscall.WaitStatus, pumps []*pump, timeout, grace time.Duration) {
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	state, status, known := Exited, syscall.WaitStatus(0), true
	select {
	case status = <-ended:
	case <-timer.C:
		state = TimedOut
	case state = <-j.stop:
	}
	if state != Exited {
		tree.kill(grace)
		select {
		case status = <-ended:
		case <-time.After(5 * time.Second):
			// Stuck in the kernel: its end can only be reported, not forced.
			known = false
		}
	}
	for _, pump := range pumps {
		pump.ended()
	}
	for _, pump := range pumps {
		<-pump.drained
	}
	var exitCode *int
	signal := ""
	switch {
	case !known:
	case status.Signaled():
		signal = signalName(status.Signal())
	case state == Exited:
		code := status.ExitStatus()
		exitCode = &code
	}
	j.finish(state, exitCode, signal, "")
}

// feed writes bytes to a pipe of the command.
type feed struct {
	writer  *os.File
	content []byte
}

func (f feed) run() {
	// A command that does not read its input is no failure.
	_, _ = f.writer.Write(f.content)
	f.writer.Close()
}

// openFiles opens stdin, stdout, stderr and, for a long script, descriptor 3.
func openFiles(j *Job, ready *program, stdin []byte) (files []uintptr, pumps []*pump, feeds []feed, err error) {
	if stdin == nil {
		null, err := syscall.Open("/dev/null", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return nil, nil, nil, err
		}
		files = append(files, uintptr(null))
	} else {
		reader, input, err := newFeed(stdin)
		if err != nil {
			return nil, nil, nil, err
		}
		files, feeds = append(files, reader), append(feeds, input)
	}
	for _, output := range []*Output{j.stdout, j.stderr} {
		pump, writer, err := newPipe(output)
		if err != nil {
			return nil, nil, nil, err
		}
		files, pumps = append(files, uintptr(writer)), append(pumps, pump)
	}
	if ready.script != "" {
		reader, input, err := newFeed([]byte(ready.script))
		if err != nil {
			return nil, nil, nil, err
		}
		files, feeds = append(files, reader), append(feeds, input)
	}
	return files, pumps, feeds, nil
}

func newFeed(content []byte) (uintptr, feed, error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return 0, feed{}, err
	}
	if err := syscall.SetNonblock(ends[1], true); err != nil {
		return 0, feed{}, err
	}
	return uintptr(ends[0]), feed{os.NewFile(uintptr(ends[1]), "input"), content}, nil
}
