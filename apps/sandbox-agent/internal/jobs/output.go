//go:build linux

package jobs

import (
	"encoding/base64"
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

const (
	// readSize is a pipe's default capacity.
	readSize = 64 << 10
	// pipeGrace is how long an ended command's output may still come from processes that it left behind.
	pipeGrace = 10 * time.Millisecond
	// maxDrain bounds what is read after the end, should a left-behind process never stop writing.
	maxDrain = 4 << 20
)

// Output keeps the head and the tail of a stream and counts all of it.
type Output struct {
	mutex  sync.Mutex
	limit  int
	head   []byte
	ring   []byte
	next   int
	bytes  int64
	closed bool
}

// OutputView is an Output on the wire.
type OutputView struct {
	Head      string `json:"head_base64"`
	Tail      string `json:"tail_base64"`
	Bytes     int64  `json:"bytes"`
	Truncated bool   `json:"truncated"`
}

// NewOutput keeps at most limit bytes, half of them the head.
func NewOutput(limit int) *Output { return &Output{limit: limit} }

// Write never fails; what is written after Close is dropped.
func (o *Output) Write(chunk []byte) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.closed {
		return
	}
	o.bytes += int64(len(chunk))
	headLimit := (o.limit + 1) / 2
	if room := headLimit - len(o.head); room > 0 {
		taken := min(room, len(chunk))
		o.head = append(o.head, chunk[:taken]...)
		chunk = chunk[taken:]
	}
	tailLimit := o.limit - headLimit
	if tailLimit == 0 || len(chunk) == 0 {
		return
	}
	if len(chunk) > tailLimit {
		chunk = chunk[len(chunk)-tailLimit:]
	}
	if room := tailLimit - len(o.ring); room > 0 {
		taken := min(room, len(chunk))
		o.ring = append(o.ring, chunk[:taken]...)
		chunk = chunk[taken:]
	}
	for len(chunk) > 0 {
		copied := copy(o.ring[o.next:], chunk)
		o.next = (o.next + copied) % tailLimit
		chunk = chunk[copied:]
	}
}

// Close ends the capture: the result of a command does not change after its end.
func (o *Output) Close() {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.closed = true
}

// Forget drops the kept bytes and returns how many they were; the counts stay.
func (o *Output) Forget() int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	size := len(o.head) + len(o.ring)
	o.head, o.ring, o.next = nil, nil, 0
	return size
}

// Kept is the number of bytes held.
func (o *Output) Kept() int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	return len(o.head) + len(o.ring)
}

// View copies the output for the wire.
func (o *Output) View() OutputView {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	tail := make([]byte, 0, len(o.ring))
	tail = append(append(tail, o.ring[o.next:]...), o.ring[:o.next]...)
	return OutputView{
		Head:      base64.StdEncoding.EncodeToString(o.head),
		Tail:      base64.StdEncoding.EncodeToString(tail),
		Bytes:     o.bytes,
		Truncated: o.bytes > int64(len(o.head)+len(o.ring)),
	}
}

// pump reads a pipe into an output. Once the command has ended it takes what the pipe holds, reports, and goes on
// reading without keeping: a process left behind must neither block nor be killed by a closed pipe.
type pump struct {
	reader  *os.File
	output  *Output
	drained chan struct{}
}

// newPipe returns the pump of a new pipe and the descriptor of its writing end.
func newPipe(output *Output) (*pump, int, error) {
	var ends [2]int
	if err := syscall.Pipe2(ends[:], syscall.O_CLOEXEC); err != nil {
		return nil, -1, err
	}
	if err := syscall.SetNonblock(ends[0], true); err != nil {
		return nil, -1, err
	}
	return &pump{os.NewFile(uintptr(ends[0]), "pipe"), output, make(chan struct{})}, ends[1], nil
}

// ended tells the pump that its command is over.
func (p *pump) ended() { _ = p.reader.SetReadDeadline(time.Now().Add(pipeGrace)) }

func (p *pump) run() {
	defer p.reader.Close()
	buffer := make([]byte, readSize)
	for {
		count, err := p.reader.Read(buffer)
		p.output.Write(buffer[:count])
		if errors.Is(err, os.ErrDeadlineExceeded) {
			// An expired deadline hides data that is there: take it past the poller.
			p.drain(buffer)
			break
		}
		if err != nil {
			close(p.drained)
			return
		}
	}
	close(p.drained)
	_ = p.reader.SetReadDeadline(time.Time{})
	for {
		if _, err := p.reader.Read(buffer); err != nil {
			return
		}
	}
}

func (p *pump) drain(buffer []byte) {
	raw, err := p.reader.SyscallConn()
	if err != nil {
		return
	}
	for total := 0; total < maxDrain; {
		count := 0
		_ = raw.Control(func(descriptor uintptr) { count, _ = syscall.Read(int(descriptor), buffer) })
		if count <= 0 {
			return
		}
		p.output.Write(buffer[:count])
		total += count
	}
}
