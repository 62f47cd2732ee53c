package model

import (
	"encoding/json"
	"errors"
	"net"
	"sort"
	"sync"
	"time"
)

const (
	pingInterval = 5 * time.Second
	// silenceLimit ends a stream whose runner no longer answers pings.
	silenceLimit = 20 * time.Second
	// writeLimit ends a stream whose runner no longer reads.
	writeLimit = 10 * time.Second
)

// ErrStale refuses a stream of a lower epoch than one seen before.
var ErrStale = errors.New("a higher epoch has been seen")

// Hub joins the harness's calls with the runner's stream.
type Hub struct {
	// KeepAlive is how long a streamed answer may be silent before a comment is sent.
	KeepAlive time.Duration

	mutex   sync.Mutex
	epoch   int64
	stream  *stream
	calls   map[uint32]*call
	counter uint32
}

// NewHub makes a hub without a stream.
func NewHub() *Hub { return &Hub{KeepAlive: 15 * time.Second, calls: map[uint32]*call{}, epoch: -1} }

// stream is one runner's connection.
type stream struct {
	connection net.Conn
	mutex      sync.Mutex
}

func (s *stream) send(f frame) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	_ = s.connection.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := s.connection.Write(f.encode()); err != nil {
		// The reader notices and lets go.
		s.connection.Close()
	}
}

// Admit checks an epoch before the connection is taken over.
func (h *Hub) Admit(epoch int64) error {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if epoch < h.epoch {
		return ErrStale
	}
	h.epoch = epoch
	return nil
}

// Serve runs one admitted connection to its end. It replaces the stream before it, and hands over every call that has
// no end yet, with how much of its answer has been accepted.
func (h *Hub) Serve(connection net.Conn, reader frameSource, epoch int64) {
	current := &stream{connection: connection}
	h.mutex.Lock()
	if epoch < h.epoch {
		h.mutex.Unlock()
		connection.Close()
		return
	}
	if h.stream != nil {
		h.stream.connection.Close()
	}
	h.stream = current
	held := make([]frame, 0, len(h.calls))
	for _, open := range h.calls {
		if !open.over {
			held = append(held, open.frame())
		}
	}
	h.mutex.Unlock()
	sort.Slice(held, func(a, b int) bool { return held[a].call < held[b].call })

	stop := make(chan struct{})
	go func() {
		ticker := time.NewTicker(pingInterval)
		defer ticker.Stop()
		for {
			select {
			case <-stop:
				return
			case <-ticker.C:
				current.send(frame{kind: framePing})
			}
		}
	}()
	go func() {
		for _, call := range held {
			current.send(call)
		}
	}()
	h.read(current, reader)
	close(stop)
	connection.Close()
	h.mutex.Lock()
	if h.stream == current {
		h.stream = nil
	}
	h.mutex.Unlock()
}

// frameSource is the connection behind the buffer that the upgrade may have filled.
type frameSource interface{ Read([]byte) (int, error) }

func (h *Hub) read(current *stream, reader frameSource) {
	for {
		_ = current.connection.SetReadDeadline(time.Now().Add(silenceLimit))
		received, err := readFrame(reader)
		if err != nil {
			return
		}
		switch received.kind {
		case frameHead, frameData, frameEnd:
			if !h.apply(current, received) {
				return
			}
		case framePing:
			current.send(frame{kind: framePong, call: received.call})
		}
	}
}

// head is the JSON of a HEAD frame.
type head struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
}

// apply gives a frame to its call; frames of a replaced stream are dropped, for the new one answers from where the
// call stands.
func (h *Hub) apply(current *stream, received frame) bool {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.stream != current {
		return false
	}
	open, found := h.calls[received.call]
	if !found || open.over {
		return true
	}
	switch received.kind {
	case frameHead:
		var parsed head
		if err := json.Unmarshal(received.payload, &parsed); err != nil || parsed.Status < 200 || parsed.Status > 599 {
			parsed = head{Status: 502, Headers: map[string]string{"content-type": "application/json"}}
		}
		if open.head == nil {
			open.head = &parsed
		}
	case frameData:
		open.delivered += int64(len(received.payload))
		open.pending = append(open.pending, received.payload)
	case frameEnd:
		open.over = true
	}
	open.signal()
	return true
}

// add registers a call and offers it to the stream, if there is one.
func (h *Hub) add(open *call) {
	h.mutex.Lock()
	h.counter++
	open.number = h.counter
	h.calls[open.number] = open
	current, first := h.stream, open.frame()
	h.mutex.Unlock()
	if current != nil {
		current.send(first)
	}
}

// remove forgets a call; the runner is told when it had no end yet.
func (h *Hub) remove(open *call) {
	h.mutex.Lock()
	delete(h.calls, open.number)
	current, over := h.stream, open.over
	h.mutex.Unlock()
	if current != nil && !over {
		current.send(frame{kind: frameAbort, call: open.number})
	}
}

// take moves what a call has received to its handler.
func (h *Hub) take(open *call) (first *head, chunks [][]byte, over bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	chunks, open.pending = open.pending, nil
	return open.head, chunks, open.over
}
