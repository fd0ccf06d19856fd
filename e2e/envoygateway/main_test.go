package envoygateway

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// inside marks the process that runs in the network namespace.
const inside = "LIMPET_IN_NAMESPACE"

// TestMain runs the tests in a network namespace of their own: the ports of Envoy Gateway are fixed and open to all
// addresses, and only loopback is there. Without root it takes a user namespace too.
func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		os.Exit(isolated())
	}
	if err := raiseLoopback(); err != nil {
		fmt.Fprintln(os.Stderr, "loopback in the network namespace:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// isolated runs this program again in the namespace and gives its exit code.
func isolated() int {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), inside+"=1")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	err := cmd.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended):
		return ended.ExitCode()
	default:
		fmt.Fprintf(os.Stderr, "these tests need a network namespace of their own (unshare -n), for Envoy Gateway's ports are fixed: %v; "+
			"run them as root, or where users may make namespaces (sysctl kernel.unprivileged_userns_clone)\n", err)
		return 1
	}
}

// raiseLoopback switches the interface lo on, which a new namespace has off.
func raiseLoopback() error {
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(socket)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(socket, unix.SIOCGIFFLAGS, lo); err != nil {
		return err
	}
	lo.SetUint16(lo.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(socket, unix.SIOCSIFFLAGS, lo)
}
