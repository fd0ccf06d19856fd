package envoyproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Find gives the program to run: what ENVOY names, else envoy on PATH.
func Find() (string, error) {
	if name := os.Getenv("ENVOY"); name != "" {
		path, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("ENVOY: %q is not a program", name)
		}
		return path, nil
	}
	path, err := exec.LookPath("envoy")
	if err != nil {
		return "", errors.New("no Envoy on PATH; name one with ENVOY=PATH " +
			"('make tools' installs one and says where)")
	}
	return path, nil
}
