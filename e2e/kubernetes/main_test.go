package kubernetes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"github.com/limpet-proxy/limpet/e2e/internal/harness"
	"github.com/limpet-proxy/limpet/e2e/internal/node"
)

// inside says that the process is in the network namespace.
const inside = "LIMPET_E2E_NAMESPACE"

// podRange has the addresses of pods.
const podRange = "10.244.0.0/16"

func TestMain(m *testing.M) {
	node.BecomeContainer()
	if os.Getenv("KUBERNETES") == "" && os.Getenv("CI") != "true" && os.Getenv("LIMPET_REQUIRE_ENVOY") != "1" {
		fmt.Println("e2e/kubernetes: skipped, for KUBERNETES names no control plane: run 'make e2e-kubernetes', which builds one")
		return
	}
	if os.Getenv(inside) == "" {
		os.Exit(runInside())
	}
	for _, command := range [][]string{{"link", "set", "lo", "up"}, {"route", "add", "local", podRange, "dev", "lo"}} {
		if text, err := exec.Command("ip", command...).CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "e2e/kubernetes: ip %v: %v\n%s", command, err, text)
			os.Exit(1)
		}
	}
	code := m.Run()
	controlPlane.stop()
	if err := harness.WriteResults(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// runInside runs the tests in a network namespace, and gives their exit code.
func runInside() int {
	command := exec.Command("/proc/self/exe", os.Args[1:]...)
	command.Env = append(os.Environ(), inside+"=1")
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGTERM}
	err := command.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	default:
		fmt.Fprintf(os.Stderr, "e2e/kubernetes: a network namespace can't be had, for which one must be root: %v\n", err)
		return 1
	}
}
