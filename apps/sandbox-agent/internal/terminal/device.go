//go:build linux

// Package terminal runs programs on pseudo-terminals.
package terminal

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

// size is the kernel's struct winsize.
type size struct{ rows, columns, width, height uint16 }

func control(descriptor, request uintptr, argument unsafe.Pointer) error {
	if _, _, failure := syscall.Syscall(syscall.SYS_IOCTL, descriptor, request, uintptr(argument)); failure != 0 {
		return failure
	}
	return nil
}

// open gives both ends of a new terminal of this size. The near end is polled: no thread waits for it.
func open(rows, columns uint16) (near *os.File, far int, err error) {
	master, err := syscall.Open("/dev/ptmx", syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, -1, fmt.Errorf("/dev/ptmx: %w", err)
	}
	near = os.NewFile(uintptr(master), "ptmx")
	var unlocked, number int32
	if err := control(uintptr(master), syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked)); err != nil {
		near.Close()
		return nil, -1, err
	}
	if err := control(uintptr(master), syscall.TIOCGPTN, unsafe.Pointer(&number)); err != nil {
		near.Close()
		return nil, -1, err
	}
	// Before the program can look: it must never see another size first.
	if err := resize(near, rows, columns); err != nil {
		near.Close()
		return nil, -1, err
	}
	far, err = syscall.Open(fmt.Sprintf("/dev/pts/%d", number), syscall.O_RDWR|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		near.Close()
		return nil, -1, err
	}
	return near, far, nil
}

func resize(near *os.File, rows, columns uint16) error {
	raw, err := near.SyscallConn()
	if err != nil {
		return err
	}
	wanted := size{rows: rows, columns: columns}
	var failure error
	if err := raw.Control(func(descriptor uintptr) {
		failure = control(descriptor, syscall.TIOCSWINSZ, unsafe.Pointer(&wanted))
	}); err != nil {
		return err
	}
	return failure
}
