//go:build linux

package files

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func code(err error) string {
	var known *Error
	if errors.As(err, &known) {
		return known.Code
	}
	return ""
}

func TestWriteIsAtomicAndFollowsLinks(t *testing.T) {
	folder := t.TempDir()
	real, link := filepath.Join(folder, "real"), filepath.Join(folder, "link")
	if err := os.WriteFile(real, []byte("old"), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Write(link, 0, strings.NewReader("new")); err != nil {
		t.Fatal(err)
	}
	content, _ := os.ReadFile(real)
	info, _ := os.Stat(real)
	if string(content) != "new" || info.Mode().Perm() != 0o750 {
		t.Errorf("%q %v", content, info.Mode())
	}
	if _, err := os.Readlink(link); err != nil {
		t.Error("the link was replaced")
	}
	if _, err := Write(link, 0, io.MultiReader(strings.NewReader("half"), failing{})); err == nil {
		t.Error("a broken body was taken")
	}
	content, _ = os.ReadFile(real)
	left, _ := os.ReadDir(folder)
	if string(content) != "new" || len(left) != 2 {
		t.Errorf("after a broken write: %q, %v", content, left)
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("broken") }

func TestNothingHangsOnFifosAndFolders(t *testing.T) {
	folder := t.TempDir()
	fifo := filepath.Join(folder, "fifo")
	if err := syscall.Mkfifo(fifo, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(fifo); code(err) != NotAFile {
		t.Errorf("fifo: %v", err)
	}
	if _, _, err := Open(folder); code(err) != NotAFile {
		t.Errorf("folder: %v", err)
	}
	if _, _, err := Open(filepath.Join(folder, "none")); code(err) != NotFound {
		t.Errorf("missing: %v", err)
	}
	if _, err := Write(folder, 0, strings.NewReader("x")); code(err) != NotAFile {
		t.Errorf("write to a folder: %v", err)
	}
	if _, err := List(fifo); code(err) != NotADir {
		t.Errorf("list of a fifo: %v", err)
	}
	if _, err := Write(fifo, 0, strings.NewReader("x")); err != nil {
		t.Errorf("a fifo gives way to a file: %v", err)
	}
}

func TestArchivesComeBackEqual(t *testing.T) {
	source := t.TempDir()
	for path, content := range map[string]string{"a/b/c.txt": "c", "a/empty": "", "z": strings.Repeat("z", 100_000)} {
		if _, err := Write(filepath.Join(source, path), 0o755, strings.NewReader(content)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"dangling": "/none", "a/up": "../z"} {
		if err := os.Symlink(target, filepath.Join(source, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo(filepath.Join(source, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(source, "locked"), 0o555); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	if err := Pack(source, nil, &first); err != nil {
		t.Fatal(err)
	}
	target := t.TempDir()
	if _, err := Extract(target, bytes.NewReader(first.Bytes())); err != nil {
		t.Fatal(err)
	}
	// Extracting again over it must work too.
	if _, err := Extract(target, bytes.NewReader(first.Bytes())); err != nil {
		t.Fatal(err)
	}
	if err := Pack(target, nil, &second); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("packing what was extracted gives another archive")
	}
}

func TestExcludesAndEscapes(t *testing.T) {
	source := t.TempDir()
	for _, path := range []string{"keep", "node_modules/x", "log.tmp"} {
		if _, err := Write(filepath.Join(source, path), 0, strings.NewReader("x")); err != nil {
			t.Fatal(err)
		}
	}
	var packed bytes.Buffer
	exclude := func(name string) bool { return name == "node_modules" || strings.HasSuffix(name, ".tmp") }
	if err := Pack(source, exclude, &packed); err != nil {
		t.Fatal(err)
	}
	reader := tar.NewReader(&packed)
	header, err := reader.Next()
	if err != nil || header.Name != "keep" {
		t.Fatalf("%v %v", header, err)
	}
	if _, err := reader.Next(); err != io.EOF {
		t.Errorf("more than asked for: %v", err)
	}
	var evil bytes.Buffer
	writer := tar.NewWriter(&evil)
	_ = writer.WriteHeader(&tar.Header{Name: "../evil", Typeflag: tar.TypeReg, Mode: 0o644})
	_ = writer.Close()
	if _, err := Extract(t.TempDir(), &evil); code(err) != ArchiveError {
		t.Errorf("an escaping entry: %v", err)
	}
	if _, err := Extract(t.TempDir(), strings.NewReader(strings.Repeat("no tar ", 200))); code(err) != ArchiveError {
		t.Errorf("no tar: %v", err)
	}
}
