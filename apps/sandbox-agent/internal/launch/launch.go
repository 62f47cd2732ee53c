//go:build linux

// Package launch builds a local sandbox: a private mount namespace, an overlay over the host's root with the host's
// private folders masked, limits, and bubblewrap around the agent.
package launch

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"espalier.dev/espalier/apps/sandbox-agent/internal/spec"
)

// rootlessMark tells a re-executed launcher that it already runs in its own user namespace.
const rootlessMark = "ESPALIER_LAUNCH_ROOTLESS"

// Main builds the sandbox of `--spec FILE` and does not return on success: the process becomes bubblewrap.
func Main(arguments []string) error {
	flags := flag.NewFlagSet("launch", flag.ContinueOnError)
	file := flags.String("spec", "", "launch specification (JSON)")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	text, err := os.ReadFile(*file)
	if err != nil {
		return fmt.Errorf("LAUNCH_SPEC: %w", err)
	}
	var launch spec.Launch
	if err := json.Unmarshal(text, &launch); err != nil {
		return fmt.Errorf("LAUNCH_SPEC: %s: %w", *file, err)
	}
	bubblewrap, err := exec.LookPath("bwrap")
	if err != nil {
		return fmt.Errorf("LAUNCH_BUBBLEWRAP: bwrap is not on the PATH; install the package bubblewrap")
	}
	if os.Getuid() != 0 {
		return inUserNamespace()
	}
	// Namespaces belong to threads: all that follows, up to exec, must stay on this one.
	runtime.LockOSThread()
	return build(&launch, bubblewrap, os.Getenv(rootlessMark) != "")
}

// inUserNamespace runs the launcher again as root of a new user namespace, and waits for it.
func inUserNamespace() error {
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Env = append(os.Environ(), rootlessMark+"=1")
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	if err := command.Run(); err != nil {
		return fmt.Errorf("LAUNCH_ROOTLESS: user namespaces are needed when not root: %w", err)
	}
	return nil
}

func build(launch *spec.Launch, bubblewrap string, rootless bool) error {
	listener, err := listen(launch.Socket)
	if err != nil {
		return fmt.Errorf("LAUNCH_SOCKET: %w", err)
	}
	if err := joinCgroup(launch); err != nil {
		return err
	}
	if err := syscall.Unshare(syscall.CLONE_NEWNS); err != nil {
		return fmt.Errorf("LAUNCH_NAMESPACE: %w", err)
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("LAUNCH_NAMESPACE: private mounts: %w", err)
	}
	volume := filepath.Join(launch.Directory, "fs")
	if err := os.MkdirAll(volume, 0o700); err != nil {
		return fmt.Errorf("LAUNCH_DISK: %w", err)
	}
	options := fmt.Sprintf("size=%d,mode=0755", launch.DiskBytes)
	if err := syscall.Mount("tmpfs", volume, "tmpfs", syscall.MS_NOSUID|syscall.MS_NODEV, options); err != nil {
		return fmt.Errorf("LAUNCH_DISK: tmpfs of %d bytes: %w", launch.DiskBytes, err)
	}
	root := filepath.Join(volume, "root")
	mount := mountRoot
	if rootless {
		mount = mountTopLevels
	}
	if err := mount(launch, volume, root); err != nil {
		return err
	}
	config, err := configFile(launch, volume)
	if err != nil {
		return fmt.Errorf("LAUNCH_CONFIG: %w", err)
	}
	if err := setLimits(launch); err != nil {
		return err
	}
	return execBubblewrap(launch, bubblewrap, root, listener, config, rootless)
}

// listen opens the agent's socket outside of the sandbox; the descriptor is handed in, the path is never visible there.
func listen(path string) (int, error) {
	descriptor, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	_ = os.Remove(path)
	previous := syscall.Umask(0o177)
	defer syscall.Umask(previous)
	if err := syscall.Bind(descriptor, &syscall.SockaddrUnix{Name: path}); err != nil {
		return -1, fmt.Errorf("%s: %w", path, err)
	}
	return descriptor, syscall.Listen(descriptor, 2048)
}

// configFile writes the agent's configuration to a file that has no name.
func configFile(launch *spec.Launch, volume string) (int, error) {
	text, err := json.Marshal(spec.Serve{
		SandboxID: launch.SandboxID,
		Token:     launch.Token,
		Workdir:   launch.Workdir,
		Env:       launch.Env,
		LeaseMs:   launch.LeaseMs,
	})
	if err != nil {
		return -1, err
	}
	path := filepath.Join(volume, "config")
	descriptor, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL, 0o600)
	if err != nil {
		return -1, err
	}
	if err := syscall.Unlink(path); err != nil {
		return -1, err
	}
	for rest := text; len(rest) > 0; {
		written, err := syscall.Write(descriptor, rest)
		if err != nil {
			return -1, err
		}
		rest = rest[written:]
	}
	_, err = syscall.Seek(descriptor, 0, 0)
	return descriptor, err
}
