//go:build linux

package jobs

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// Reaper collects every ended child: the agent is PID 1 (or a sub-reaper), so orphans of commands are its children too,
// and waiting for single ones elsewhere would race with it.
type Reaper struct {
	mutex   sync.Mutex
	waiting map[int]chan syscall.WaitStatus
}

// NewReaper starts collecting.
func NewReaper() *Reaper {
	reaper := &Reaper{waiting: map[int]chan syscall.WaitStatus{}}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGCHLD)
	go func() {
		// Signals coalesce; the ticker bounds what a lost one can cost.
		ticker := time.NewTicker(time.Second)
		for {
			select {
			case <-signals:
			case <-ticker.C:
			}
			reaper.collect()
		}
	}()
	return reaper
}

// Start forks under the reaper's lock, so that an end cannot be collected before someone waits for it.
func (r *Reaper) Start(fork func() (int, error)) (int, <-chan syscall.WaitStatus, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	pid, err := fork()
	if err != nil {
		return 0, nil, err
	}
	ended := make(chan syscall.WaitStatus, 1)
	r.waiting[pid] = ended
	return pid, ended, nil
}

func (r *Reaper) collect() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		if err == syscall.EINTR {
			continue
		}
		if err != nil || pid <= 0 {
			return
		}
		if ended, found := r.waiting[pid]; found {
			delete(r.waiting, pid)
			ended <- status
		}
	}
}
