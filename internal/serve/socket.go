package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"syscall"
)

// SocketPrefix begins an address that is the path of a socket.
const SocketPrefix = "unix:"

// maxSocketPath is how many bytes of such a path every system takes.
const maxSocketPath = 99

// SocketPath gives the path of an address, if it is one.
func SocketPath(address string) (path string, is bool) {
	return strings.CutPrefix(address, SocketPrefix)
}

// CheckSocketPath refuses a path at which there can be no socket.
func CheckSocketPath(path string) error {
	switch {
	case path == "":
		return errors.New("must name the path of a socket, as unix:PATH")
	case path[0] == '@': // in Linux' abstract namespace, where there are no modes
		return fmt.Errorf("%s is no path: everybody on the machine could connect there; name a file", path)
	case len(path) > maxSocketPath:
		return fmt.Errorf("a socket's path must have less than %d bytes, and %s has %d; name a shorter one",
			maxSocketPath+1, path, len(path))
	}
	return nil
}

// ListenOnSocket listens at a path, with a mode that says who may connect. What an earlier process has left there is
// removed.
func ListenOnSocket(path string, mode fs.FileMode) (net.Listener, error) {
	if err := CheckSocketPath(path); err != nil {
		return nil, err
	}
	if err := removeStaleSocket(path); err != nil {
		return nil, err
	}
	// No one else connects before the mode is set. The mask is the process's: a file that is made meanwhile stays its
	// owner's to read.
	defer syscall.Umask(syscall.Umask(0o077))
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, mode); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// removeStaleSocket removes a socket at which nobody listens any more, and nothing else.
func removeStaleSocket(path string) error {
	switch info, err := os.Lstat(path); {
	case err != nil:
		return nil //nolint:nilerr // listening says what is wrong with it
	case info.Mode()&fs.ModeSocket == 0:
		return fmt.Errorf("%s is there and no socket; remove it, or name another path", path)
	}
	connection, err := net.Dial("unix", path)
	if err == nil {
		_ = connection.Close()
		return fmt.Errorf("%s is in use by another process; stop it, or name another path", path)
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return os.Remove(path)
	}
	return err
}
