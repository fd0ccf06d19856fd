package standin

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
)

// inside says that the process is in the network namespace.
const inside = "LIMPET_CLUSTER"

// The networks: Pods', in which this machine has the first address, Services', and one of addresses for whatever else
// needs some, Pods that are only made up among them. The last two are all of this machine.
const (
	// Address is where Pods reach this machine.
	Address        = "10.245.0.1"
	podNetwork     = "10.245."
	serviceNetwork = "10.0.0.0/24"
	freeNetwork    = "10.244.0.0/16"
	balancers      = "10.244.200."
)

const (
	bridge = "pods0"
	// A bridge without a hardware address of its own has the lowest one of its ports: Pods that come and go would change
	// it, and others' packets went to the former one until they asked again, which looks like a proxy that hangs.
	hardware = "02:00:0a:f5:00:01"
)

// Main does work that needs clusters, and exits with what it gives: in a network namespace of its own, for which this
// program starts itself once more; it does so for each process of a container, too. So it comes first in a program,
// whose name it says in messages.
func Main(name string, work func() int) {
	becomeContainer()
	if os.Getenv("KUBERNETES") == "" && os.Getenv("CI") != "true" && os.Getenv("LIMPET_REQUIRE_ENVOY") != "1" {
		target := strings.ReplaceAll(name, "/", "-")
		fmt.Printf("%s: skipped, for KUBERNETES names no control plane: run 'make %s', which builds one\n", name, target)
		os.Exit(0)
	}
	if os.Getenv(inside) == "" {
		os.Exit(runInside(name))
	}
	if err := makeNetwork(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(1)
	}
	os.Exit(work())
}

// runInside runs this program in a network namespace, and gives its exit code.
func runInside(name string) int {
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
		fmt.Fprintf(os.Stderr, "%s: a network namespace can't be had, for which one must be root: %v\n", name, err)
		return 1
	}
}

// makeNetwork makes a bridge, to which each Pod's own network is joined, and has the other networks be this machine's.
func makeNetwork() error {
	for _, command := range []string{
		"ip link set lo up", "ip route add local " + freeNetwork + " dev lo",
		"ip route add local " + serviceNetwork + " dev lo",
		"ip link add " + bridge + " address " + hardware + " type bridge", "ip addr add " + Address + "/16 dev " + bridge,
		"ip link set " + bridge + " up",
	} {
		if err := run(command); err != nil {
			return err
		}
	}
	return nil
}

func run(command string) error {
	words := strings.Fields(command)
	if text, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", command, err, text)
	}
	return nil
}
