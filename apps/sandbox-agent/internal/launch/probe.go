//go:build linux

package launch

import (
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// Probe prints what this machine and user can isolate, as JSON.
func Probe(out io.Writer) {
	bubblewrap, err := exec.LookPath("bwrap")
	limits := []string{}
	for controller, file := range map[string]string{
		"memory": "memory.limit_in_bytes", "pids": "tasks", "cpu": "cpu.cfs_quota_us",
	} {
		if exists(filepath.Join(cgroupRoot, controller, file)) {
			limits = append(limits, controller)
		}
	}
	if exists(filepath.Join(cgroupRoot, "cgroup.controllers")) {
		limits = []string{"memory", "pids", "cpu"}
	}
	_ = json.NewEncoder(out).Encode(map[string]any{
		"bubblewrap": bubblewrap, "found": err == nil, "isolation": isolation(os.Getuid() != 0), "cgroup": limits,
	})
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
