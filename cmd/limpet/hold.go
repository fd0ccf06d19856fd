package main

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// The ways to hold a folder: with others who write into it once, or alone, for as long as limpet runs.
const (
	holdOnce  = syscall.LOCK_SH
	holdAlone = syscall.LOCK_EX
)

// heldFolder is a folder that limpet writes into. The lock is on the folder itself, so there is no file of it among the
// others, and ends with the process, however that ends.
type heldFolder struct {
	folder *os.File
	made   bool
	// unlocked says why there is no lock: not every file system has locks.
	unlocked error
}

// hold takes a folder, which is made if need be; it fails where another limpet holds it alone, or holds what this one
// wants alone.
func hold(path string, how int) (*heldFolder, error) {
	made, err := makeDir(path)
	if err != nil {
		return nil, err
	}
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	h := &heldFolder{folder: folder, made: made}
	h.unlocked = syscall.Flock(int(folder.Fd()), how|syscall.LOCK_NB)
	if errors.Is(h.unlocked, syscall.EWOULDBLOCK) {
		_ = folder.Close()
		return nil, fmt.Errorf("%s: another limpet writes into this folder: end it, or name another folder", path)
	}
	return h, nil
}

// release gives the folder up, and takes it away again if it was made for nothing.
func (h *heldFolder) release() {
	if h.made {
		_ = os.Remove(h.folder.Name()) // of what is not empty nothing happens
	}
	_ = h.folder.Close()
}
