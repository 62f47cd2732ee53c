// Package model is the sandbox's model endpoint: it turns the harness's HTTP requests into calls on a stream that a
// runner opens from outside, and holds them while no runner is there.
package model

import (
	"encoding/binary"
	"fmt"
	"io"
)

// Frame types: payload length (u32 BE), type (u8), call number (u32 BE), payload.
const (
	frameCall  = 1
	frameHead  = 2
	frameData  = 3
	frameEnd   = 4
	frameAbort = 5
	framePing  = 6
	framePong  = 7
)

const (
	frameHeaderBytes = 9
	maxFrameBytes    = 160 << 20
)

type frame struct {
	kind    byte
	call    uint32
	payload []byte
}

func (f frame) encode() []byte {
	bytes := make([]byte, frameHeaderBytes+len(f.payload))
	binary.BigEndian.PutUint32(bytes, uint32(len(f.payload)))
	bytes[4] = f.kind
	binary.BigEndian.PutUint32(bytes[5:], f.call)
	copy(bytes[frameHeaderBytes:], f.payload)
	return bytes
}

func readFrame(reader io.Reader) (frame, error) {
	var header [frameHeaderBytes]byte
	if _, err := io.ReadFull(reader, header[:]); err != nil {
		return frame{}, err
	}
	length := binary.BigEndian.Uint32(header[:])
	if length > maxFrameBytes {
		return frame{}, fmt.Errorf("model stream: a frame of %d bytes is too large", length)
	}
	payload := make([]byte, length)
	_, err := io.ReadFull(reader, payload)
	return frame{header[4], binary.BigEndian.Uint32(header[5:]), payload}, err
}
