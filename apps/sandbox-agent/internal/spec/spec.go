// Package spec holds the documents that cross the agent's process borders.
package spec

// Version of the agent and its protocol.
const Version = "0.1.0"

// ModelPort is where the harness finds its model, on the sandbox's own loopback.
const ModelPort = 4010

// Bind makes a host folder visible in the sandbox.
type Bind struct {
	Source   string `json:"source"`
	Target   string `json:"target"`
	ReadOnly bool   `json:"read_only"`
}

// Launch describes one local sandbox, as the manager writes it (mode 0600: it holds the token).
type Launch struct {
	SandboxID string `json:"sandbox_id"`
	// Nonce stands in the command lines of the sandbox's outer and inner process, and in no other.
	Nonce string `json:"nonce"`
	// Directory is the sandbox's own folder on the host; mounts on it are private to the sandbox's processes.
	Directory string `json:"directory"`
	// Socket is where the agent listens, outside of the sandbox's view.
	Socket string `json:"socket"`
	// Layers are image layers, topmost first, above the host's root.
	Layers []string `json:"layers"`
	// Masks are absolute host paths to hide besides the built-in ones.
	Masks []string `json:"masks"`
	// Exposed are names of further top-level host folders to show.
	Exposed []string `json:"exposed"`
	// DiskBytes bounds everything that the sandbox writes.
	DiskBytes int64 `json:"disk_bytes"`
	// KeepUpper and KeepWork place the writable layer on disk: the sandbox is an image build.
	KeepUpper string            `json:"keep_upper"`
	KeepWork  string            `json:"keep_work"`
	Binds     []Bind            `json:"binds"`
	Hostname  string            `json:"hostname"`
	Workdir   string            `json:"workdir"`
	Env       map[string]string `json:"env"`
	Token     string            `json:"token"`
	LeaseMs   int64             `json:"lease_ms"`
	// Network is "none" or "host".
	Network string `json:"network"`
	// MemoryBytes, CPUs and Pids are limits by cgroup; 0 means none.
	MemoryBytes int64   `json:"memory_bytes"`
	CPUs        float64 `json:"cpus"`
	Pids        int64   `json:"pids"`
	// OpenFiles is RLIMIT_NOFILE.
	OpenFiles uint64 `json:"open_files"`
	// Cgroup names the sandbox's cgroup below each controller; empty means none.
	Cgroup string `json:"cgroup"`
	// Controllers are those that Probe found writable; a launch that cannot set one of them fails.
	Controllers []string `json:"controllers"`
}

// Build says whether the sandbox is an image build, which keeps Docker's default capabilities.
func (l *Launch) Build() bool { return l.KeepUpper != "" }

// Serve is what the agent inside needs to know; it travels through an unlinked file, never argv or environment.
type Serve struct {
	SandboxID string            `json:"sandbox_id"`
	Token     string            `json:"token"`
	Workdir   string            `json:"workdir"`
	Env       map[string]string `json:"env"`
	LeaseMs   int64             `json:"lease_ms"`
}
