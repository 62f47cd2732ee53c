//go:build linux

package launch

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// shownTopLevels are the folders of the host's root that make up the base image. Everything else on the top level is
// private until it is named: new folders of a host must not leak by default.
var shownTopLevels = map[string]bool{
	"bin": true, "sbin": true, "lib": true, "lib32": true, "lib64": true, "libx32": true,
	"usr": true, "etc": true, "opt": true, "var": true,
}

// hiddenFolders lie below shown ones and are emptied.
var hiddenFolders = []string{
	"/etc/ssh", "/etc/ssl/private", "/etc/sudoers.d", "/usr/local/share/private", "/var/backups", "/var/lib/docker",
	"/var/lib/containerd", "/var/lib/kubelet", "/var/log", "/var/mail", "/var/spool", "/var/tmp", "/opt/espalier",
}

// hiddenFiles lie below shown folders and disappear.
var hiddenFiles = []string{"/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/sudoers", "/etc/machine-id"}

// replacedFiles get harmless content.
var replacedFiles = map[string]string{
	"/etc/shadow": "root:*:19000:0:99999:7:::\n",
	"/etc/hosts":  "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n",
}

// masks writes an overlay layer that hides the host's private paths when put above its root.
type masks struct {
	directory string
	// opaque is the attribute that hides what lies below a folder; it differs for unprivileged overlays.
	opaque string
}

func (m masks) write(exposed, extra []string) error {
	entries, err := os.ReadDir("/")
	if err != nil {
		return err
	}
	shown := map[string]bool{}
	for _, name := range exposed {
		shown[strings.Trim(name, "/")] = true
	}
	for _, entry := range entries {
		name := entry.Name()
		if shownTopLevels[name] || shown[name] {
			continue
		}
		if err := m.hide("/" + name); err != nil {
			return err
		}
	}
	for _, path := range append(append([]string{}, hiddenFolders...), extra...) {
		if err := m.hide(path); err != nil {
			return err
		}
	}
	for _, path := range hiddenFiles {
		if err := m.hide(path); err != nil {
			return err
		}
	}
	for path, content := range replacedFiles {
		if err := m.replace(path, content); err != nil {
			return err
		}
	}
	for path, mode := range map[string]os.FileMode{
		"/tmp": 0o777 | os.ModeSticky, "/var/tmp": 0o777 | os.ModeSticky, "/root": 0o700, "/workspace": 0o755,
		"/proc": 0o555, "/dev": 0o755, "/run": 0o755, "/home": 0o755, "/logs": 0o755,
	} {
		target := filepath.Join(m.directory, path)
		if err := m.folder(path); err != nil {
			return err
		}
		if err := os.Chmod(target, mode); err != nil {
			return err
		}
	}
	return nil
}

// hide empties a folder or removes a file. A path below a hidden folder is hidden already.
func (m masks) hide(path string) error {
	path = filepath.Clean(path)
	if path == "/" || m.covered(path) {
		return nil
	}
	info, err := os.Lstat(path)
	if err != nil {
		// Absent, but it may appear while the sandbox lives.
		if os.IsNotExist(err) {
			return nil
		}
		return err
	}
	if info.Mode()&os.ModeSymlink != 0 {
		return nil
	}
	if info.IsDir() {
		return m.folder(path)
	}
	if err := m.parents(path); err != nil {
		return err
	}
	// A character device 0/0 is overlayfs' mark of a removed file.
	if err := syscall.Mknod(filepath.Join(m.directory, path), syscall.S_IFCHR, 0); err != nil && err != syscall.EEXIST {
		return fmt.Errorf("mask %s: %w", path, err)
	}
	return nil
}

// folder makes an empty folder that hides the host's.
func (m masks) folder(path string) error {
	if err := m.parents(path); err != nil {
		return err
	}
	target := filepath.Join(m.directory, path)
	if err := os.Mkdir(target, 0o755); err != nil && !os.IsExist(err) {
		return err
	}
	if err := syscall.Setxattr(target, m.opaque, []byte("y"), 0); err != nil {
		return fmt.Errorf("mask %s: %w", path, err)
	}
	return nil
}

func (m masks) replace(path, content string) error {
	if m.covered(path) {
		return nil
	}
	if err := m.parents(path); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(m.directory, path), []byte(content), 0o644)
}

// parents copies the host's folders above path, with their modes: an overlay shows the topmost folder's.
func (m masks) parents(path string) error {
	parent := filepath.Dir(path)
	if parent == "/" {
		return nil
	}
	target := filepath.Join(m.directory, parent)
	if _, err := os.Lstat(target); err == nil {
		return nil
	}
	if err := m.parents(parent); err != nil {
		return err
	}
	mode := os.FileMode(0o755)
	if info, err := os.Stat(parent); err == nil {
		mode = info.Mode().Perm()
	}
	if err := os.Mkdir(target, mode); err != nil {
		return err
	}
	return os.Chmod(target, mode)
}

// covered says whether path lies below a folder that is hidden already.
func (m masks) covered(path string) bool {
	for parent := filepath.Dir(path); parent != "/"; parent = filepath.Dir(parent) {
		buffer := [4]byte{}
		size, err := syscall.Getxattr(filepath.Join(m.directory, parent), m.opaque, buffer[:])
		if err == nil && size > 0 {
			return true
		}
	}
	return false
}
