package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// elider keeps the first and the last part of what is written to it, in bounded memory.
type elider struct {
	mu    sync.Mutex
	half  int
	head  []byte
	tail  []byte // ring of the last `half` bytes once full
	start int
	total int64
}

func newElider(limit int) *elider {
	return &elider{half: limit / 2}
}

// ReadFrom takes everything from r.
func (e *elider) ReadFrom(r io.Reader) (int64, error) {
	buffer := make([]byte, 32*1024)
	var read int64
	for {
		n, err := r.Read(buffer)
		read += int64(n)
		e.write(buffer[:n])
		if err == io.EOF {
			return read, nil
		}
		if err != nil {
			return read, err
		}
	}
}

func (e *elider) write(content []byte) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.total += int64(len(content))
	if room := e.half - len(e.head); room > 0 {
		n := min(room, len(content))
		e.head = append(e.head, content[:n]...)
		content = content[n:]
	}
	if len(content) > e.half {
		content = content[len(content)-e.half:]
		e.tail, e.start = e.tail[:0], 0
	}
	for _, b := range content {
		if len(e.tail) < e.half {
			e.tail = append(e.tail, b)
			continue
		}
		e.tail[e.start] = b
		e.start = (e.start + 1) % e.half
	}
}

// String is valid UTF-8; characters cut by the gap are left out.
func (e *elider) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	tail := append(append([]byte{}, e.tail[e.start:]...), e.tail[:e.start]...)
	omitted := e.total - int64(len(e.head)) - int64(len(tail))
	if omitted == 0 {
		return strings.ToValidUTF8(string(e.head)+string(tail), "\uFFFD")
	}
	head := e.head
	for n := 0; n < utf8.UTFMax && len(head) > 0; n++ {
		if last, size := utf8.DecodeLastRune(head); last != utf8.RuneError || size > 1 {
			break
		}
		head = head[:len(head)-1]
	}
	for n := 0; n < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); n++ {
		tail = tail[1:]
	}
	omitted = e.total - int64(len(head)) - int64(len(tail))
	gap := fmt.Sprintf("\n[... %d bytes left out ...]\n", omitted)
	return strings.ToValidUTF8(string(head), "\uFFFD") + gap + strings.ToValidUTF8(string(tail), "\uFFFD")
}

// elide shortens a text in the same way.
func elide(text string, limit int) string {
	e := newElider(limit)
	e.write([]byte(text))
	return e.String()
}
