//go:build linux

package launch

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Probe prints what this machine and user can isolate, as JSON.
func Probe(out io.Writer) {
	bubblewrap, err := exec.LookPath("bwrap")
	limits := writableControllers()
	_ = json.NewEncoder(out).Encode(map[string]any{
		"bubblewrap": bubblewrap, "found": err == nil, "isolation": isolation(os.Getuid() != 0), "cgroup": limits,
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

const writeAccess = 2

// writableControllers are those under which this user can make groups: found out by making the parent of all of them.
func writableControllers() []string {
	controllers := []string{"cpu", "memory", "pids"}
	if unified() {
		parent := filepath.Join(cgroupRoot, "espalier")
		_ = os.Mkdir(parent, 0o755)
		if syscall.Access(filepath.Join(cgroupRoot, "cgroup.subtree_control"), writeAccess) != nil || !exists(parent) {
			return []string{}
		}
		return controllers
	}
	found := []string{}
	for _, controller := range controllers {
		parent := filepath.Join(cgroupRoot, controller, "espalier")
		_ = os.Mkdir(parent, 0o755)
		if syscall.Access(parent, writeAccess) == nil {
			found = append(found, controller)
		}
	}
	return found
}
