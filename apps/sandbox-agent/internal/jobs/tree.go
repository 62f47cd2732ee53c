//go:build linux

package jobs

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// process is one line of the process table.
type process struct {
	pid, parent, session int
	zombie               bool
}

// readProcesses walks /proc.
func readProcesses() []process {
	directory, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer directory.Close()
	names, _ := directory.Readdirnames(-1)
	processes := make([]process, 0, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if found, ok := readProcess(pid); ok {
			processes = append(processes, found)
		}
	}
	return processes
}

func readProcess(pid int) (process, bool) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	// The name in brackets may hold anything, so fields count from the last bracket.
	end := bytes.LastIndexByte(text, ')')
	if end < 0 {
		return process{}, false
	}
	fields := bytes.Fields(text[end+1:])
	if len(fields) < 4 {
		return process{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	session, _ := strconv.Atoi(string(fields[3]))
	return process{pid, parent, session, fields[0][0] == 'Z' || fields[0][0] == 'X'}, true
}

// tree is what a command and all that it started are known by: its session, descent from a member, and a mark in the
// environment that survives a double fork into another session.
type tree struct {
	leader int
	mark   []byte
}

// members are the living processes of the tree.
func (t tree) members() []int {
	processes := readProcesses()
	self := os.Getpid()
	inside := map[int]bool{}
	for _, candidate := range processes {
		if candidate.pid == self || candidate.pid == 1 {
			continue
		}
		if candidate.pid == t.leader || candidate.session == t.leader || t.marked(candidate.pid) {
			inside[candidate.pid] = true
		}
	}
	for grown := true; grown; {
		grown = false
		for _, candidate := range processes {
			if inside[candidate.parent] && !inside[candidate.pid] && candidate.pid != self {
				inside[candidate.pid] = true
				grown = true
			}
		}
	}
	living := []int{}
	for _, candidate := range processes {
		if inside[candidate.pid] && !candidate.zombie {
			living = append(living, candidate.pid)
		}
	}
	return living
}

func (t tree) marked(pid int) bool {
	environment, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(environment, t.mark)
}

// kill sends TERM, waits up to grace for the tree to end, and then sends KILL until nothing of it is left (bounded).
// Only members of the tree are ever signalled.
func (t tree) kill(grace time.Duration) {
	members := t.members()
	for _, pid := range members {
		_ = syscall.Kill(pid, syscall.SIGTERM)
		// A stopped process does not see TERM before it goes on.
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if members = t.members(); len(members) == 0 {
			return
		}
	}
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		members = t.members()
		if len(members) == 0 {
			return
		}
		for _, pid := range members {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
