//go:build linux

package serve

import (
	"sync"
	"time"
)

// lease ends the sandbox when nobody renews it.
type lease struct {
	mutex sync.Mutex
	timer *time.Timer
	end   func()
}

func newLease(ttl time.Duration, end func()) *lease {
	made := &lease{end: end}
	made.renew(ttl)
	return made
}

// renew sets the time from now on; 0 ends the lease without ending the sandbox.
func (l *lease) renew(ttl time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if ttl > 0 {
		l.timer = time.AfterFunc(ttl, l.end)
	}
}
