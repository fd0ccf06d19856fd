// Package freeport finds ports for programs that tests and measurements start.
package freeport

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
)

// Ports are handed out below the range from which the kernel picks ports for outgoing connections, so that none is
// taken between here and a program's bind. A process leases blocks of them from all others of this machine, until it
// ends.
const (
	first     = 11000
	blocks    = 200
	blockSize = 100
)

// leases is what this process has.
var leases struct {
	sync.Mutex
	locks []*os.File // keep the locks, as long as the process lives
	block int        // the latest; processes begin at different ones
	used  int        // ports of it that were handed out
}

// Find gives a TCP port of 127.0.0.1 on which nothing listens, a different one with every call and in every process. It
// does not listen there to try: a program that another test starts holds every socket of this process from its fork to
// its exec, those just closed too.
func Find() (int, error) {
	leases.Lock()
	defer leases.Unlock()
	for {
		if len(leases.locks) == 0 || leases.used == blockSize {
			if err := leaseBlock(); err != nil {
				return 0, err
			}
		}
		port := first + leases.block*blockSize + leases.used
		leases.used++
		if !isTaken(port) {
			return port, nil
		}
	}
}

// FindMany gives several.
func FindMany(count int) ([]int, error) {
	ports := make([]int, count)
	for i := range ports {
		var err error
		if ports[i], err = Find(); err != nil {
			return nil, err
		}
	}
	return ports, nil
}

// leaseBlock takes the next block that no process has.
func leaseBlock() error {
	folder := filepath.Join(os.TempDir(), "limpet-ports")
	if err := os.MkdirAll(folder, 0o777); err != nil { //nolint:gosec // processes of all users share the ports
		return err
	}
	_ = os.Chmod(folder, 0o777) //nolint:gosec // whatever the umask of who made it: another user's is so already
	if len(leases.locks) == 0 {
		leases.block = os.Getpid() % blocks
	}
	for range blocks {
		leases.block = (leases.block + 1) % blocks
		name := filepath.Join(folder, strconv.Itoa(leases.block))
		lock, err := os.OpenFile(name, os.O_RDONLY|os.O_CREATE, 0o666) //nolint:gosec // as above
		if err != nil {
			return err
		}
		if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			leases.locks, leases.used = append(leases.locks, lock), 0
			return nil
		}
		_ = lock.Close()
	}
	return errors.New("no free port on 127.0.0.1: other processes have all of 11000 to 30999")
}

// isTaken reports whether something listens at a port.
func isTaken(port int) bool {
	used, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err == nil {
		_ = used.Close()
	}
	return err == nil
}
