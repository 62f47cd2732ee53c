//go:build linux

package files

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// Extract unpacks a tar below root, making it. Names that leave root are refused; owners are not kept.
func Extract(root string, content io.Reader) (int, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return 0, classify(root, err)
	}
	reader := tar.NewReader(content)
	count := 0
	// Folders get their times and modes last: a read-only one could not be filled, and filling changes its time.
	var folders []*tar.Header
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return count, &Error{ArchiveError, fmt.Sprintf("%s: entry %d: %v", root, count, err)}
		}
		target, err := inside(root, header.Name)
		if err != nil {
			return count, err
		}
		if header.Typeflag == tar.TypeDir {
			folders = append(folders, header)
		}
		if err := extractEntry(root, target, header, reader); err != nil {
			return count, classify(target, err)
		}
		count++
	}
	for index := len(folders) - 1; index >= 0; index-- {
		target, _ := inside(root, folders[index].Name)
		_ = os.Chmod(target, folders[index].FileInfo().Mode())
		_ = os.Chtimes(target, folders[index].ModTime, folders[index].ModTime)
	}
	// The end of a tar is padded; leaving bytes unread would break the connection.
	_, _ = io.Copy(io.Discard, content)
	return count, nil
}

func inside(root, name string) (string, error) {
	target := filepath.Join(root, name)
	if strings.ContainsRune(name, 0) || (target != root && !strings.HasPrefix(target, strings.TrimSuffix(root, "/")+"/")) {
		return "", &Error{ArchiveError, fmt.Sprintf("archive entry %q leaves %s", name, root)}
	}
	return target, nil
}

func extractEntry(root, target string, header *tar.Header, content io.Reader) error {
	if header.Typeflag == tar.TypeDir {
		if info, err := os.Lstat(target); err == nil && !info.IsDir() {
			// A link to a folder may stand for it; anything else gives way.
			if followed, err := os.Stat(target); err != nil || !followed.IsDir() {
				_ = os.Remove(target)
			}
		}
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	if info, err := os.Lstat(target); err == nil {
		if info.IsDir() {
			if err := os.RemoveAll(target); err != nil {
				return err
			}
		} else if err := os.Remove(target); err != nil {
			return err
		}
	}
	switch header.Typeflag {
	case tar.TypeReg:
		file, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, content)
		if chmod := file.Chmod(header.FileInfo().Mode()); err == nil {
			err = chmod
		}
		if closing := file.Close(); err == nil {
			err = closing
		}
		if err == nil {
			_ = os.Chtimes(target, header.ModTime, header.ModTime)
		}
		return err
	case tar.TypeSymlink:
		if err := os.Symlink(header.Linkname, target); err != nil {
			return err
		}
		setLinkTime(target, header.ModTime)
		return nil
	case tar.TypeLink:
		source, err := inside(root, header.Linkname)
		if err != nil {
			return err
		}
		return os.Link(source, target)
	case tar.TypeFifo:
		if err := syscall.Mkfifo(target, uint32(header.FileInfo().Mode().Perm())); err != nil {
			return err
		}
		return os.Chtimes(target, header.ModTime, header.ModTime)
	default:
		return &Error{ArchiveError, fmt.Sprintf("archive entry %q has type %q, which a sandbox cannot make", header.Name, header.Typeflag)}
	}
}

// setLinkTime sets the time of a link itself, which the standard library has no call for. Only equality of archives
// suffers when it fails.
func setLinkTime(path string, at time.Time) {
	name, err := syscall.BytePtrFromString(path)
	if err != nil {
		return
	}
	const currentDirectory, noFollow = -100, 0x100
	stamp := syscall.NsecToTimespec(at.UnixNano())
	times := [2]syscall.Timespec{stamp, stamp}
	directory := currentDirectory
	_, _, _ = syscall.Syscall6(syscall.SYS_UTIMENSAT, uintptr(directory), uintptr(unsafe.Pointer(name)),
		uintptr(unsafe.Pointer(&times[0])), noFollow, 0, 0)
}

// Pack writes a tar of what lies below root, in byte order, names relative to it. Sockets and devices are left out; a
// file that changes while it is read keeps the size of its header. An error means that the stream must be cut.
func Pack(root string, exclude func(name string) bool, out io.Writer) error {
	info, err := os.Stat(root)
	if err != nil {
		return classify(root, err)
	}
	if !info.IsDir() {
		return &Error{NotADir, "Not a directory: " + root}
	}
	writer := tar.NewWriter(out)
	// A trailing slash makes a linked root be followed.
	err = filepath.WalkDir(strings.TrimSuffix(root, "/")+"/", func(path string, entry fs.DirEntry, failure error) error {
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if failure != nil {
			// What the sandbox's own user cannot read, or what vanished meanwhile, is no part of the archive.
			if errors.Is(failure, fs.ErrNotExist) || errors.Is(failure, fs.ErrPermission) {
				return nil
			}
			return failure
		}
		if relative == "." {
			return nil
		}
		if exclude != nil && exclude(relative) {
			if entry.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		return packEntry(writer, path, relative)
	})
	if err != nil {
		return classify(root, err)
	}
	return writer.Close()
}

func packEntry(writer *tar.Writer, path, name string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	mode := info.Mode()
	link := ""
	switch {
	case mode.IsDir():
		name += "/"
	case mode.IsRegular(), mode&fs.ModeNamedPipe != 0:
	case mode&fs.ModeSymlink != 0:
		if link, err = os.Readlink(path); err != nil {
			return nil
		}
	default:
		return nil
	}
	if !mode.IsRegular() {
		header, err := tar.FileInfoHeader(info, link)
		if err != nil {
			return err
		}
		return writeHeader(writer, header, name)
	}
	file, info, err := openRegular(path, syscall.O_NOFOLLOW)
	if err != nil {
		var known *Error
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.As(err, &known) {
			return nil
		}
		return err
	}
	defer file.Close()
	header, err := tar.FileInfoHeader(info, "")
	if err != nil {
		return err
	}
	if err := writeHeader(writer, header, name); err != nil {
		return err
	}
	copied, err := io.Copy(writer, io.LimitReader(file, header.Size))
	if err != nil {
		return err
	}
	_, err = io.CopyN(writer, zeros{}, header.Size-copied)
	return err
}

func writeHeader(writer *tar.Writer, header *tar.Header, name string) error {
	header.Name = name
	// Owners and access times would make equal trees differ.
	header.Uid, header.Gid, header.Uname, header.Gname = 0, 0, "", ""
	header.Format = tar.FormatPAX
	header.AccessTime, header.ChangeTime = time.Time{}, time.Time{}
	return writer.WriteHeader(header)
}

type zeros struct{}

func (zeros) Read(buffer []byte) (int, error) {
	clear(buffer)
	return len(buffer), nil
}
