// Command cluster runs a command beside a stand-in of a Kubernetes cluster on this machine (e2e/internal/standin).
// CLUSTER names its kubeconfig.
//
//	KUBERNETES=FOLDER cluster [--image NAME=PROGRAM]... COMMAND ARGUMENT...
//
// KUBERNETES is the folder that "tools/setup.sh kubernetes" fills. Containers with the image NAME run PROGRAM of this
// machine.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/limpet-proxy/limpet/e2e/internal/standin"
)

func main() {
	images := map[string]standin.Image{}
	flag.Func("image", "`NAME=PROGRAM` that containers run; can be given again", func(text string) error {
		name, program, found := strings.Cut(text, "=")
		if !found {
			return errors.New("must be NAME=PROGRAM")
		}
		images[name] = standin.Image{
			Files:      map[string]string{"/program": program},
			Libraries:  true,
			Entrypoint: []string{"/program"},
		}
		return nil
	})
	standin.Main("conformance", func() int {
		flag.Parse()
		if flag.NArg() == 0 {
			fmt.Fprintln(os.Stderr, "usage: cluster [--image NAME=PROGRAM]... COMMAND ARGUMENT...")
			return 2
		}
		code, err := run(images, flag.Args())
		if err != nil {
			fmt.Fprintln(os.Stderr, "cluster:", err)
			return 1
		}
		return code
	})
}

// run starts a cluster, and gives the exit code of a command beside it.
func run(images map[string]standin.Image, words []string) (int, error) {
	plane, err := standin.StartPlane(standin.Options{})
	if err != nil {
		return 0, err
	}
	defer plane.Stop()
	node, err := plane.StartNode(images, nil)
	if err != nil {
		return 0, err
	}
	defer node.Stop()
	if err := plane.StartControllers(); err != nil {
		return 0, err
	}
	command := exec.Command(words[0], words[1:]...)
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Env = append(os.Environ(), "CLUSTER="+plane.Kubeconfig(standin.AdminToken))
	command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	err = command.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}
