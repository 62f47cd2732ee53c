//go:build linux

package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"espalier.dev/espalier/apps/sandbox-agent/internal/spec"
)

const (
	cgroupRoot   = "/sys/fs/cgroup"
	cgroupPeriod = 100_000
	// rlimitProcesses is RLIMIT_NPROC, which the syscall package does not name.
	rlimitProcesses = 6
)

// setLimits sets what the sandbox's processes inherit.
func setLimits(launch *spec.Launch) error {
	limits := map[int]uint64{syscall.RLIMIT_CORE: 0}
	if launch.OpenFiles > 0 {
		limits[syscall.RLIMIT_NOFILE] = launch.OpenFiles
	}
	if launch.Pids > 0 && os.Getenv(rootlessMark) != "" {
		// The kernel counts per user and exempts its first user, so that for root the cgroup does it.
		limits[rlimitProcesses] = uint64(launch.Pids)
	}
	for resource, value := range limits {
		var current syscall.Rlimit
		if err := syscall.Getrlimit(resource, &current); err == nil {
			// What this process may not have, it cannot pass on.
			value = min(value, current.Max)
		}
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("LAUNCH_LIMITS: resource %d to %d: %w", resource, value, err)
		}
	}
	// The agent must outlive what runs under it; commands get the ordinary score back when they start.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("-900"), 0o644)
	return nil
}

// joinCgroup moves this process below its controllers with the sandbox's limits.
func joinCgroup(launch *spec.Launch) error {
	if launch.Cgroup == "" || len(launch.Controllers) == 0 {
		return nil
	}
	joinThem := joinHierarchies
	if unified() {
		joinThem = joinUnified
	}
	if err := joinThem(launch); err != nil {
		return fmt.Errorf("LAUNCH_CGROUP: %w", err)
	}
	return nil
}

func unified() bool { return exists(filepath.Join(cgroupRoot, "cgroup.controllers")) }

func joinUnified(launch *spec.Launch) error {
	directory := filepath.Join(cgroupRoot, launch.Cgroup)
	_ = os.Mkdir(filepath.Dir(directory), 0o755)
	_ = os.WriteFile(filepath.Join(cgroupRoot, "cgroup.subtree_control"), []byte("+memory +pids +cpu"), 0o644)
	_ = os.WriteFile(filepath.Join(filepath.Dir(directory), "cgroup.subtree_control"), []byte("+memory +pids +cpu"), 0o644)
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	settings := map[string]string{}
	if launch.MemoryBytes > 0 {
		settings["memory.max"] = strconv.FormatInt(launch.MemoryBytes, 10)
	}
	if launch.Pids > 0 {
		settings["pids.max"] = strconv.FormatInt(launch.Pids, 10)
	}
	if launch.CPUs > 0 {
		settings["cpu.max"] = fmt.Sprintf("%d %d", int64(launch.CPUs*cgroupPeriod), cgroupPeriod)
	}
	return join(directory, settings)
}

func joinHierarchies(launch *spec.Launch) error {
	controllers := map[string]map[string]string{}
	has := func(controller string) bool { return slices.Contains(launch.Controllers, controller) }
	if launch.MemoryBytes > 0 && has("memory") {
		controllers["memory"] = map[string]string{"memory.limit_in_bytes": strconv.FormatInt(launch.MemoryBytes, 10)}
	}
	if launch.Pids > 0 && has("pids") {
		controllers["pids"] = map[string]string{"pids.max": strconv.FormatInt(launch.Pids, 10)}
	}
	if launch.CPUs > 0 && has("cpu") {
		controllers["cpu"] = map[string]string{
			"cpu.cfs_period_us": strconv.Itoa(cgroupPeriod),
			"cpu.cfs_quota_us":  strconv.FormatInt(int64(launch.CPUs*cgroupPeriod), 10),
		}
	}
	var failures error
	for controller, settings := range controllers {
		directory := filepath.Join(cgroupRoot, controller, launch.Cgroup)
		if err := os.MkdirAll(directory, 0o755); err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		failures = errors.Join(failures, join(directory, settings))
	}
	return failures
}

func join(directory string, settings map[string]string) error {
	var failures error
	for name, value := range settings {
		failures = errors.Join(failures, os.WriteFile(filepath.Join(directory, name), []byte(value), 0o644))
	}
	// "0" is the writing process.
	return errors.Join(failures, os.WriteFile(filepath.Join(directory, "cgroup.procs"), []byte("0"), 0o644))
}
