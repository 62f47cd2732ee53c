//go:build linux

// Package serve is the agent inside a sandbox.
package serve

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"espalier.dev/espalier/apps/sandbox-agent/internal/jobs"
	"espalier.dev/espalier/apps/sandbox-agent/internal/model"
	"espalier.dev/espalier/apps/sandbox-agent/internal/spec"
)

const (
	prSetDeathSignal    = 1
	prSetDumpable       = 4
	prSetChildSubreaper = 36
	// memoryLimit makes the collector work before the agent grows; it is no hard limit.
	memoryLimit = 64 << 20
)

// Main serves until the sandbox ends.
func Main(arguments []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	sandbox := flags.String("sandbox", "", "sandbox id (also tells the process to the manager)")
	_ = flags.String("instance", "", "nonce that tells this process to the manager")
	listenFd := flags.Int("listen-fd", -1, "descriptor of a listening socket")
	listenTCP := flags.String("listen", "", "TCP address to listen on instead")
	configFd := flags.Int("config-fd", -1, "descriptor of the configuration")
	configFile := flags.String("config", "", "file of the configuration instead; removed once read")
	isolation := flags.String("isolation", "none", "isolation level, reported in health")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	debug.SetMemoryLimit(memoryLimit)
	config, err := readConfig(*configFd, *configFile)
	if err != nil {
		return fmt.Errorf("AGENT_CONFIG: %w", err)
	}
	closeInherited(*listenFd)
	if *listenFd >= 0 {
		// Whoever kills the outer process of a local sandbox ends the sandbox.
		prctl(prSetDeathSignal, uintptr(syscall.SIGKILL))
	}
	// Commands run as the agent's user: they must read neither its memory nor its environment.
	prctl(prSetDumpable, 0)
	if os.Getpid() != 1 {
		prctl(prSetChildSubreaper, 1)
	}
	listener, err := listen(*listenFd, *listenTCP)
	if err != nil {
		return fmt.Errorf("AGENT_LISTEN: %w", err)
	}
	hub := model.NewHub()
	modelError := serveModel(hub)
	environment := commandEnvironment(config.Env)
	server := &server{
		id: *sandbox, token: config.Token, workdir: config.Workdir, isolation: *isolation, hub: hub,
		jobs: jobs.NewManager(jobs.NewReaper(), config.Workdir, environment), modelError: modelError,
	}
	server.lease = newLease(time.Duration(config.LeaseMs)*time.Millisecond, func() {
		log.Printf("lease lapsed: the sandbox ends")
		end()
	})
	guardSignals()
	return (&http.Server{Handler: server.handler(), ReadHeaderTimeout: 30 * time.Second}).Serve(listener)
}

func readConfig(descriptor int, path string) (*spec.Serve, error) {
	file := os.NewFile(uintptr(descriptor), "config")
	if path != "" {
		opened, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		file = opened
		defer os.Remove(path)
	}
	if file == nil {
		return nil, fmt.Errorf("give --config-fd or --config")
	}
	defer file.Close()
	var config spec.Serve
	if err := json.NewDecoder(file).Decode(&config); err != nil {
		return nil, err
	}
	if config.Workdir == "" {
		config.Workdir = "/workspace"
	}
	return &config, nil
}

func listen(descriptor int, address string) (net.Listener, error) {
	if address != "" {
		return net.Listen("tcp", address)
	}
	return net.FileListener(os.NewFile(uintptr(descriptor), "listener"))
}

// closeInherited closes what the launcher's exec needed (the agent's own binary, for one).
func closeInherited(keep int) {
	directory, err := os.Open("/proc/self/fd")
	if err != nil {
		return
	}
	names, _ := directory.Readdirnames(-1)
	own := int(directory.Fd())
	for _, name := range names {
		descriptor, err := strconv.Atoi(name)
		if err != nil || descriptor <= 2 || descriptor == own {
			continue
		}
		if descriptor == keep {
			syscall.CloseOnExec(descriptor)
			continue
		}
		// Descriptors of the Go runtime (epoll) are close-on-exec; inherited ones are not.
		flags, _, failure := syscall.Syscall(syscall.SYS_FCNTL, uintptr(descriptor), syscall.F_GETFD, 0)
		if failure == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(descriptor)
		}
	}
	directory.Close()
}

func serveModel(hub *model.Hub) string {
	address := fmt.Sprintf("127.0.0.1:%d", spec.ModelPort)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Printf("model endpoint %s: %v", address, err)
		return err.Error()
	}
	go func() {
		log.Printf("model endpoint: %v", (&http.Server{Handler: hub}).Serve(listener))
	}()
	return ""
}

// commandEnvironment is what every command starts with; the sandbox's own variables win.
func commandEnvironment(own map[string]string) map[string]string {
	environment := map[string]string{"HOME": "/root", "USER": "root", "LOGNAME": "root", "LANG": "C.UTF-8"}
	if path := os.Getenv("PATH"); path != "" {
		environment["PATH"] = path
	}
	for name, value := range own {
		environment[name] = value
	}
	return environment
}

// end ends the sandbox: when PID 1 exits the kernel kills all the rest; a sub-reaper does it by itself.
func end() {
	if os.Getpid() != 1 {
		_ = syscall.Kill(-1, syscall.SIGKILL)
	}
	os.Exit(0)
}

func prctl(option, value uintptr) {
	_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, option, value, 0, 0, 0, 0)
}
