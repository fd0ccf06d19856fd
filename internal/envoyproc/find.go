package envoyproc

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Find gives the program to run: what ENVOY names, else envoy on PATH.
func Find() (string, error) {
	name := os.Getenv("ENVOY")
	path, err := exec.LookPath(cmp.Or(name, "envoy"))
	switch {
	case err == nil:
		return path, nil
	case name != "":
		return "", fmt.Errorf("ENVOY: %q is not a program", name)
	default:
		return "", errors.New("no Envoy on PATH; name one with ENVOY=PATH ('make tools' installs one and says where)")
	}
}
