// Package tools tests the set-up script's refusals: each is one clear line that says what to do.
package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// run runs setup.sh in an empty cache with stand-ins for system programs: name to shell script.
func run(t *testing.T, argument string, env []string, programs map[string]string) (string, error) {
	t.Helper()
	// Reading the script here makes go test run again when it changes.
	if _, err := os.ReadFile("setup.sh"); err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	for name, script := range programs {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("bash", "./setup.sh", argument)
	cmd.Env = append(os.Environ(), "TINYGO=", "ENVOY=", "CHROMIUM=", "GOLANGCI_LINT=", "LIMPET_CACHE="+t.TempDir(), "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestRefusals(t *testing.T) {
	missing := map[string]string{"dpkg-query": "exit 1", "id": "echo 1000", "apt-get": "echo must not run; exit 1"}
	tests := []struct {
		name, argument string
		env            []string
		programs       map[string]string
		want           string
	}{
		{"no root", "tinygo", nil, missing, "not root: run 'sudo apt-get install "},
		{
			"apt-get fails", "tinygo", nil,
			map[string]string{"dpkg-query": "exit 1", "id": "echo 0", "apt-get": "echo no route; exit 100"},
			"failed after ",
		},
		{
			"another C library", "tinygo", nil,
			map[string]string{
				"dpkg-query": "echo install ok installed", "sha256sum": "echo libc.a: FAILED; exit 1",
			},
			"what limpet.wasm is linked with is not what tools/linked.sha256 pins",
		},
		{"own TinyGo is missing", "tinygo", []string{"TINYGO=/nowhere/tinygo"}, nil, "TINYGO=/nowhere/tinygo is not a program"},
		{"own Envoy is missing", "envoy", []string{"ENVOY=/nowhere/envoy"}, nil, "ENVOY=/nowhere/envoy is not a program"},
		{"not Debian", "tinygo", []string{"DEBIAN_VERSION_FILE=/nowhere"}, missing, "this is not Debian 12: install TinyGo 0.41.1, Envoy 1.40.0 and, for the tests, Chromium your own way and run 'make TINYGO="},
		{"Envoy can't be had", "envoy", nil, map[string]string{"python3": "echo no module named venv; exit 1"}, "failed after "},
		{"own Chromium is missing", "chromium", []string{"CHROMIUM=/nowhere/chromium"}, nil, "CHROMIUM=/nowhere/chromium is not a program"},
		{"own promtool is missing", "promtool", []string{"PROMTOOL=/nowhere/promtool"}, nil, "PROMTOOL=/nowhere/promtool is not a program"},
		{"wrong usage", "python", nil, nil, "usage: tools/setup.sh tinygo|envoy|chromium|promtool|rust|lint"},
		{"own linter is missing", "lint", []string{"GOLANGCI_LINT=/nowhere/lint"}, nil, "GOLANGCI_LINT=/nowhere/lint is not a program"},
		{"the linter can't be had", "lint", nil, map[string]string{"go": "[ \"$1\" = env ] && echo go1.26 && exit 0; echo no module; exit 1"}, "failed after "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := run(t, tt.argument, tt.env, tt.programs)
			if err == nil {
				t.Fatalf("it succeeded:\n%s", out)
			}
			lines := strings.Split(strings.TrimSpace(out), "\n")
			if last := lines[len(lines)-1]; !strings.HasPrefix(last, "setup: "+tt.want) {
				t.Errorf("the last line is\n%s\nwant it to begin\nsetup: %s", last, tt.want)
			}
		})
	}
}

func TestOwnTools(t *testing.T) {
	for tool, variable := range map[string]string{"envoy": "ENVOY", "chromium": "CHROMIUM"} {
		out, err := run(t, tool, []string{variable + "=sh"}, nil)
		if err != nil || !strings.HasSuffix(strings.TrimSpace(out), "/sh") {
			t.Errorf("want the path of the program that %s names, got %q, %v", variable, out, err)
		}
	}
}

// TestFindsABrowser: one that is there is good enough.
func TestFindsABrowser(t *testing.T) {
	out, err := run(t, "chromium", nil, map[string]string{"chromium": "exit 0", "apt-get": "echo must not run; exit 1"})
	if err != nil || !strings.HasSuffix(strings.TrimSpace(out), "/chromium") {
		t.Errorf("want the path of the browser on PATH, got %q, %v", out, err)
	}
}
