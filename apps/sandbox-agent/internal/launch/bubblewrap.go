//go:build linux

package launch

import (
	"fmt"
	"path/filepath"
	"strconv"
	"syscall"

	"espalier.dev/espalier/apps/sandbox-agent/internal/spec"
)

const (
	// standardPath is the PATH of commands; tools that a pod adds are appended, never prepended.
	standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	// sharedMemoryBytes bounds /dev/shm, which lies outside of the sandbox's disk.
	sharedMemoryBytes = 256 << 20
)

// buildCapabilities are Docker's defaults that an image build needs (package managers change owners).
var buildCapabilities = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_SETUID", "CAP_SETGID", "CAP_SETFCAP",
	"CAP_SETPCAP", "CAP_KILL", "CAP_SYS_CHROOT",
}

// Isolation names what a sandbox of this machine and user gets.
func isolation(rootless bool) string {
	if rootless {
		return "bubblewrap-rootless"
	}
	return "bubblewrap"
}

func execBubblewrap(launch *spec.Launch, bubblewrap, root string, listener, config int, rootless bool) error {
	binary, err := syscall.Open("/proc/self/exe", syscall.O_RDONLY, 0)
	if err != nil {
		return fmt.Errorf("LAUNCH_EXEC: own binary: %w", err)
	}
	information := filepath.Join(launch.Directory, "bwrap.json")
	info, err := syscall.Open(information, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("LAUNCH_EXEC: %w", err)
	}
	arguments := []string{"bwrap", "--bind", root, "/", "--proc", "/proc", "--dev", "/dev"}
	arguments = append(arguments, "--size", strconv.Itoa(sharedMemoryBytes), "--tmpfs", "/dev/shm", "--remount-ro", "/dev")
	for _, bind := range launch.Binds {
		option := "--bind"
		if bind.ReadOnly {
			option = "--ro-bind"
		}
		arguments = append(arguments, option, bind.Source, bind.Target)
	}
	arguments = append(arguments, "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try")
	if launch.Network != "host" {
		arguments = append(arguments, "--unshare-net")
	}
	arguments = append(arguments, "--cap-drop", "ALL")
	if launch.Build() {
		// Nobody takes up a build: it ends with the manager that began it.
		arguments = append(arguments, "--die-with-parent")
		for _, capability := range buildCapabilities {
			arguments = append(arguments, "--cap-add", capability)
		}
	} else {
		// A user namespace of its own that cannot be nested: the kernel's privileged surface stays closed.
		arguments = append(arguments, "--unshare-user", "--disable-userns")
	}
	arguments = append(arguments,
		"--hostname", launch.Hostname, "--clearenv", "--setenv", "PATH", standardPath, "--as-pid-1", "--chdir", "/",
		"--info-fd", strconv.Itoa(info), "--",
		// By descriptor: the agent's binary has no path in the sandbox.
		"/proc/self/fd/"+strconv.Itoa(binary), "serve", "--sandbox", launch.SandboxID, "--instance", launch.Nonce,
		"--listen-fd", strconv.Itoa(listener), "--config-fd", strconv.Itoa(config), "--isolation", isolation(rootless))
	return fmt.Errorf("LAUNCH_EXEC: %s: %w", bubblewrap, syscall.Exec(bubblewrap, arguments, []string{"PATH=" + standardPath}))
}
