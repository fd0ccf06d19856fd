package envoyproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Find gives the program to run: what the flag --envoy names, else what ENVOY does, else envoy on PATH.
func Find(flag string) (string, error) {
	for _, choice := range []struct{ name, from string }{{flag, "--envoy"}, {os.Getenv("ENVOY"), "ENVOY"}} {
		if choice.name == "" {
			continue
		}
		path, err := exec.LookPath(choice.name)
		if err != nil {
			return "", fmt.Errorf("%s: %q is not a program", choice.from, choice.name)
		}
		return path, nil
	}
	path, err := exec.LookPath("envoy")
	if err != nil {
		return "", errors.New("no Envoy on PATH; name one with --envoy PATH or ENVOY=PATH " +
			"('make tools' installs one and says where)")
	}
	return path, nil
}
