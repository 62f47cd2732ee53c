//go:build linux

// Package files reads and writes the sandbox's file system from inside, and never hangs on what it finds there.
package files

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"syscall"
)

// Error is a refusal with a stable code.
type Error struct {
	Code    string
	Message string
}

func (e *Error) Error() string { return e.Message }

// Codes of refusals.
const (
	NotFound     = "FILE_NOT_FOUND"
	NotAFile     = "FILE_NOT_A_FILE"
	NotADir      = "FILE_NOT_A_DIRECTORY"
	Denied       = "FILE_DENIED"
	Full         = "FILE_DISK_FULL"
	Failed       = "FILE_FAILED"
	ArchiveError = "FILE_ARCHIVE"
)

// classify turns an operating-system error into a coded one.
func classify(path string, err error) error {
	var known *Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	case errors.Is(err, fs.ErrNotExist):
		return &Error{NotFound, "File not found: " + path}
	case errors.Is(err, syscall.ENOTDIR):
		return &Error{NotADir, "Not a directory: " + path}
	case errors.Is(err, syscall.EISDIR):
		return &Error{NotAFile, "Not a file: " + path}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
		return &Error{Denied, fmt.Sprintf("Permission denied: %s", path)}
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return &Error{Full, "No space left: " + path}
	default:
		return &Error{Failed, fmt.Sprintf("%s: %v", path, err)}
	}
}

// openRegular opens a regular file for reading. A FIFO without a writer would block a plain open for ever.
func openRegular(path string, flags int) (*os.File, fs.FileInfo, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC|flags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		file.Close()
		return nil, nil, &Error{NotAFile, "Not a file: " + path}
	}
	return file, info, nil
}

// Open opens a regular file for reading, following links.
func Open(path string) (*os.File, fs.FileInfo, error) {
	file, info, err := openRegular(path, 0)
	return file, info, classify(path, err)
}

// Write replaces a file atomically, making its parents. A link is followed: its target is replaced, not the link.
// Mode 0 keeps an existing file's mode, else 0644.
func Write(path string, mode fs.FileMode, content io.Reader) (int64, error) {
	size, err := write(path, mode, content)
	return size, classify(path, err)
}

func write(path string, mode fs.FileMode, content io.Reader) (int64, error) {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		path = resolved
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && info.IsDir():
		return 0, &Error{NotAFile, "Not a file: " + path}
	case err == nil && mode == 0 && info.Mode().IsRegular():
		mode = info.Mode().Perm()
	case mode == 0:
		mode = 0o644
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return 0, err
	}
	temporary, err := os.CreateTemp(filepath.Dir(path), ".espalier-*")
	if err != nil {
		return 0, err
	}
	size, err := io.Copy(temporary, content)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if closing := temporary.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return size, err
}

// Entry is one line of a listing.
type Entry struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Size     int64  `json:"size"`
	Modified string `json:"modified"`
	Link     string `json:"link,omitempty"`
}

// List reads a directory in byte order of the names, links followed; what cannot be looked at is listed all the same.
func List(path string) ([]Entry, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &Error{NotFound, "Path not found: " + path}
	}
	if err != nil {
		return nil, classify(path, err)
	}
	if !info.IsDir() {
		return nil, &Error{NotADir, "Not a directory: " + path}
	}
	// A directory that cannot be read gives what could be read of it.
	names, _ := os.ReadDir(path)
	entries := make([]Entry, 0, len(names))
	for _, name := range names {
		full := filepath.Join(path, name.Name())
		entry := Entry{Name: name.Name(), Type: "file"}
		found, err := os.Stat(full)
		if err != nil {
			found, err = os.Lstat(full)
		}
		if err == nil {
			entry.Size, entry.Modified = found.Size(), found.ModTime().Format("2006-01-02T15:04:05")
			if found.IsDir() {
				entry.Type = "directory"
			}
		}
		if link, err := os.Readlink(full); err == nil {
			entry.Link = link
		}
		entries = append(entries, entry)
	}
	sort.Slice(entries, func(a, b int) bool { return entries[a].Name < entries[b].Name })
	return entries, nil
}
