//go:build linux

package jobs

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

var sharedReaper = sync.OnceValue(func() *Reaper {
	// Tests are no PID 1: orphans of commands come to a sub-reaper all the same.
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, 36, 1, 0, 0, 0, 0)
	return NewReaper()
})

func manager(t *testing.T) *Manager {
	t.Helper()
	made := NewManager(sharedReaper(), t.TempDir(), map[string]string{"PATH": os.Getenv("PATH"), "HOME": t.TempDir()})
	made.Grace = 300 * time.Millisecond
	return made
}

func start(t *testing.T, m *Manager, id string, request Request) *Job {
	t.Helper()
	job, err := m.Start(id, &request)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func finish(t *testing.T, job *Job) View {
	t.Helper()
	select {
	case <-job.Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the job does not end")
	}
	return job.View()
}

func shell(command string) Request { return Request{Command: &command} }

func text(output OutputView) string {
	head, _ := base64.StdEncoding.DecodeString(output.Head)
	tail, _ := base64.StdEncoding.DecodeString(output.Tail)
	return string(head) + string(tail)
}

func alive(pid int) bool {
	found, ok := readProcess(pid)
	return ok && !found.zombie
}

// pidsIn reads the numbers that a command has written, once there are `count` of them.
func pidsIn(t *testing.T, path string, count int) []int {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		content, _ := os.ReadFile(path)
		fields := strings.Fields(string(content))
		if len(fields) < count {
			continue
		}
		pids := make([]int, len(fields))
		for index, field := range fields {
			_, _ = fmt.Sscan(field, &pids[index])
		}
		return pids
	}
	t.Fatalf("%s has not %d lines", path, count)
	return nil
}

func TestExitCodesAndOutput(t *testing.T) {
	m := manager(t)
	for index, want := range []struct {
		command, stdout string
		code            int
	}{
		{"echo out; echo err >&2; exit 3", "out\n", 3},
		{"cat", "", 0},
		{"nosuchcommand", "", 127},
	} {
		view := finish(t, start(t, m, fmt.Sprint(index), shell(want.command)))
		if view.State != Exited || view.ExitCode == nil || *view.ExitCode != want.code || text(view.Stdout) != want.stdout {
			t.Errorf("%q gave %+v", want.command, view)
		}
	}
	killed := finish(t, start(t, m, "killed", shell("kill -9 $$")))
	if killed.ExitCode != nil || killed.Signal == nil || *killed.Signal != "SIGKILL" {
		t.Errorf("a killed command gave %+v", killed)
	}
}

func TestAnIdRunsOnce(t *testing.T) {
	m := manager(t)
	file := filepath.Join(t.TempDir(), "runs")
	var group sync.WaitGroup
	jobs := make([]*Job, 20)
	for index := range jobs {
		group.Add(1)
		go func() {
			defer group.Done()
			jobs[index], _ = m.Start("same", &Request{Argv: []string{"sh", "-c", "echo run >> " + file}})
		}()
	}
	group.Wait()
	for _, job := range jobs {
		if job != jobs[0] {
			t.Fatal("one id gave two jobs")
		}
	}
	finish(t, jobs[0])
	if content, _ := os.ReadFile(file); string(content) != "run\n" {
		t.Fatalf("ran as %q", content)
	}
}

func TestTimeoutKillsTheTreeAndNothingElse(t *testing.T) {
	m := manager(t)
	folder := t.TempDir()
	file := filepath.Join(folder, "tree")
	sibling := start(t, m, "sibling", shell("echo $$ > "+folder+"/sibling; exec sleep 300"))
	siblingPid := pidsIn(t, folder+"/sibling", 1)[0]
	defer func() { sibling.Cancel(); finish(t, sibling) }()

	request := shell(strings.ReplaceAll(`echo partial
sleep 301 & echo $! >> FILE
setsid sleep 302 & echo $! >> FILE
( setsid sh -c 'echo $$ >> FILE; exec sleep 303' & )
trap '' TERM
echo $$ >> FILE
sleep 304`, "FILE", file))
	request.TimeoutMs = 800
	job := start(t, m, "tree", request)
	pids := pidsIn(t, file, 4)
	view := finish(t, job)
	if view.State != TimedOut || view.ExitCode != nil || text(view.Stdout) != "partial\n" {
		t.Errorf("gave %+v", view)
	}
	for _, pid := range pids {
		if alive(pid) {
			t.Errorf("process %d of the tree lives on", pid)
		}
	}
	if !alive(siblingPid) {
		t.Error("a process of another command was killed")
	}
}

func TestBackgroundProcessesDoNotHoldACommand(t *testing.T) {
	m := manager(t)
	file := filepath.Join(t.TempDir(), "pid")
	view := finish(t, start(t, m, "background", shell("sleep 300 & echo $! > "+file+"; echo started")))
	if view.State != Exited || text(view.Stdout) != "started\n" {
		t.Errorf("gave %+v", view)
	}
	pid := pidsIn(t, file, 1)[0]
	if !alive(pid) {
		t.Error("the process in the background was killed")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

func TestAProcessLeftBehindMayGoOnWriting(t *testing.T) {
	m := manager(t)
	folder := t.TempDir()
	finish(t, start(t, m, "writer", shell(
		"( while [ ! -e "+folder+"/stop ]; do head -c 100000 /dev/zero; done; echo survived > "+folder+"/end ) & true")))
	if err := os.WriteFile(folder+"/stop", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if content, _ := os.ReadFile(folder + "/end"); string(content) == "survived\n" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("it was blocked or killed by the closed pipe")
		}
	}
}

func TestAllThatWasWrittenBeforeTheEndIsKept(t *testing.T) {
	m := manager(t)
	for round := range 30 {
		// A held pipe, filled to its brim just before the end.
		view := finish(t, start(t, m, fmt.Sprint(round), shell("sleep 20 & head -c 60000 /dev/zero; kill $! 2>/dev/null; true")))
		if view.Stdout.Bytes != 60000 {
			t.Fatalf("round %d kept %d of 60000 bytes", round, view.Stdout.Bytes)
		}
	}
}

func TestLongCommandsAndInput(t *testing.T) {
	m := manager(t)
	long := "echo ok #" + strings.Repeat("x", 300<<10)
	if view := finish(t, start(t, m, "long", shell(long))); text(view.Stdout) != "ok\n" {
		t.Errorf("gave %+v", view.Stderr)
	}
	input := strings.Repeat("line\n", 100_000)
	request := shell("wc -c")
	request.StdinBase64 = base64.StdEncoding.EncodeToString([]byte(input))
	if view := finish(t, start(t, m, "input", request)); strings.TrimSpace(text(view.Stdout)) != fmt.Sprint(len(input)) {
		t.Errorf("gave %q", text(view.Stdout))
	}
	// Input that nobody reads is no failure.
	unread := shell("true")
	unread.StdinBase64 = request.StdinBase64
	if view := finish(t, start(t, m, "unread", unread)); *view.ExitCode != 0 {
		t.Errorf("gave %+v", view)
	}
}

func TestWorkingDirectories(t *testing.T) {
	m := manager(t)
	loose := shell("pwd")
	loose.Cwd = "/no/such/place"
	if view := finish(t, start(t, m, "loose", loose)); text(view.Stdout) != "/\n" {
		t.Errorf("gave %q", text(view.Stdout))
	}
	strict := loose
	strict.StrictCwd = true
	if view := finish(t, start(t, m, "strict", strict)); *view.ExitCode != 126 || view.Error == nil {
		t.Errorf("gave %+v", view)
	}
}

func TestCancel(t *testing.T) {
	m := manager(t)
	file := filepath.Join(t.TempDir(), "pid")
	job := start(t, m, "cancelled", shell("echo $$ > "+file+"; sleep 300"))
	pid := pidsIn(t, file, 1)[0]
	job.Cancel()
	if view := finish(t, job); view.State != Cancelled || alive(pid) {
		t.Errorf("gave %+v", view)
	}
}

func TestOutputKeepsHeadAndTail(t *testing.T) {
	output := NewOutput(10)
	for _, chunk := range []string{"abc", "defgh", "ijklmnop", "q"} {
		output.Write([]byte(chunk))
	}
	view := output.View()
	if text(view) != "abcdemnopq" || view.Bytes != 17 || !view.Truncated {
		t.Errorf("kept %q, %+v", text(view), view)
	}
	output.Close()
	output.Write([]byte("late"))
	if output.View().Bytes != 17 {
		t.Error("took bytes after its end")
	}
}
