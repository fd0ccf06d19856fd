package atomicfile

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// DirLock is a folder that limpet writes into. The lock is on the folder itself, so there is no file of it among the
// others, and ends with the process, however that ends.
type DirLock struct {
	folder *os.File
	made   bool
	// Unlocked says why there is no lock: not every file system has locks.
	Unlocked error
}

// LockDir makes a folder if need be and locks it for as long as this limpet writes there; it fails where any other
// does.
func LockDir(path string) (*DirLock, error) { return lockDir(path, syscall.LOCK_EX) }

// lockDirShared is LockDir for one write, together with others that write once.
func lockDirShared(path string) (*DirLock, error) { return lockDir(path, syscall.LOCK_SH) }

func lockDir(path string, how int) (*DirLock, error) {
	made, err := makeDir(path)
	if err != nil {
		return nil, err
	}
	folder, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	l := &DirLock{folder: folder, made: made}
	l.Unlocked = syscall.Flock(int(folder.Fd()), how|syscall.LOCK_NB)
	if errors.Is(l.Unlocked, syscall.EWOULDBLOCK) {
		_ = folder.Close()
		return nil, fmt.Errorf("%s: another limpet writes into this folder: end it, or name another folder", path)
	}
	return l, nil
}

// Release gives the folder up, and takes it away again if it was made for nothing.
func (l *DirLock) Release() {
	if l.made {
		_ = os.Remove(l.folder.Name()) // of what is not empty nothing happens
	}
	_ = l.folder.Close()
}

// WriteAllLocked writes files into dir as [WriteAll] does, unless another limpet keeps dir up to date.
func WriteAllLocked(dir string, files []File) error {
	lock, err := lockDirShared(dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	return WriteAll(dir, files)
}
