package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// eventLog appends JSON lines. Its failures never stop the agent; they are kept for the end.
type eventLog struct {
	file *os.File
	err  error
}

func openLog(path string) (*eventLog, error) {
	if path == "" {
		return &eventLog{}, nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("cannot make the folder of the log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("cannot open the log: %w", err)
	}
	return &eventLog{file: file}, nil
}

func (l *eventLog) write(kind string, fields map[string]any) {
	if l.file == nil || l.err != nil {
		return
	}
	fields["type"] = kind
	fields["time"] = time.Now().UTC().Format(time.RFC3339Nano)
	line, err := json.Marshal(fields)
	if err == nil {
		_, err = l.file.Write(append(line, '\n'))
	}
	l.err = err
}

func (l *eventLog) failed() error { return l.err }

func (l *eventLog) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}
