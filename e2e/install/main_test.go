package install

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// inside says that the process is in the network namespace of the tests.
const inside = "LIMPET_E2E_NAMESPACE"

func TestMain(m *testing.M) {
	switch os.Getenv(role) {
	case containerRole:
		fmt.Fprintln(os.Stderr, "container:", becomeContainer())
		os.Exit(1)
	case backendRole:
		fmt.Fprintln(os.Stderr, "backend:", serveBackend())
		os.Exit(1)
	}
	if os.Getenv("KUBERNETES") == "" && os.Getenv("CI") != "true" && os.Getenv("LIMPET_REQUIRE_ENVOY") != "1" {
		fmt.Println("e2e/install: skipped, for KUBERNETES names no control plane: run 'make e2e-install', which builds one")
		return
	}
	if os.Getenv(inside) == "" {
		os.Exit(runInside())
	}
	if err := makeNetwork(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e/install:", err)
		os.Exit(1)
	}
	code := m.Run()
	os.Exit(code)
}

// runInside runs the tests in namespaces of their own, and gives their exit code.
func runInside() int {
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Env = append(os.Environ(), inside+"=1")
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGTERM}
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		fmt.Fprintf(os.Stderr, "e2e/install: a network namespace can't be had, for which one must be root: %v\n", err)
		return 1
	}
}

// nodeAddress is that of the node, on the bridge that pods' networks are joined by.
const nodeAddress = "10.244.255.254"

// makeNetwork makes the node's network: a bridge to which each pod's own network is joined.
func makeNetwork() error {
	for _, words := range [][]string{
		{"link", "set", "lo", "up"},
		{"link", "add", "pods", "type", "bridge"},
		{"address", "add", nodeAddress + "/16", "dev", "pods"},
		{"link", "set", "pods", "up"},
	} {
		if err := ip(words...); err != nil {
			return err
		}
	}
	return nil
}

func ip(words ...string) error {
	if text, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %v: %w: %s", words, err, text)
	}
	return nil
}
