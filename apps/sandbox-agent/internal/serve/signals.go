//go:build linux

package serve

import (
	"log"
	"os"
	"os/signal"
	"syscall"
	"unsafe"
)

// guardSignals makes an agent that is PID 1 immune to its own sandbox: the kernel drops a signal from inside for which
// init has no handler, but the Go runtime installs handlers for all of them, some of which end the process.
func guardSignals() {
	if os.Getpid() != 1 {
		go endOnSignal()
		return
	}
	var standard [4]uint64 // a zeroed kernel sigaction is SIG_DFL
	for number := syscall.Signal(1); number <= 31; number++ {
		switch number {
		case syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPROF, syscall.SIGPIPE:
			// Not settable, or needed by the runtime and harmless.
			continue
		}
		_, _, failure := syscall.RawSyscall6(syscall.SYS_RT_SIGACTION, uintptr(number),
			uintptr(unsafe.Pointer(&standard)), 0, 8, 0, 0)
		if failure != 0 {
			log.Printf("signal %d keeps its handler: %v", number, failure)
		}
	}
}

func endOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	<-signals
	end()
}
