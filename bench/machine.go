package main

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// machine describes where the figures come from, without names of hosts or paths.
func (b *bench) machine() string {
	pinning := "Envoy and the load share the only processor"
	if b.rig.Cores.Envoy >= 0 {
		pinning = "Envoy on one processor, load and backends on another"
	}
	return fmt.Sprintf(
		"Measured %s: %s; %d processors, %s; %s. %d rounds of %d requests a row on %d starts of Envoy, in random order.\n",
		time.Now().UTC().Format(time.DateOnly),
		versions(),
		runtime.NumCPU(),
		processor(),
		pinning,
		b.effort.starts*b.effort.rounds,
		b.effort.requests,
		b.effort.starts,
	)
}

// versions names the versions of Envoy, the compilers and Go.
func versions() string {
	return strings.Join([]string{
		"Envoy " + version(os.Getenv("ENVOY"), "--version"),
		"TinyGo " + version(os.Getenv("TINYGO"), "version"),
		"Rust " + version("rustc", "--version"),
		strings.Replace(runtime.Version(), "go", "Go ", 1),
	}, ", ")
}

// processor is the model that Linux names.
func processor() string {
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, rest, found := strings.Cut(string(text), "model name")
	line, _, _ := strings.Cut(rest, "\n")
	if !found {
		return "of an unknown model"
	}
	return strings.Trim(line, "\t :")
}

// version finds the first word of what a program says of itself that begins with a digit and has a dot. Slashes end
// words.
func version(program, flag string) string {
	out, err := exec.Command(program, flag).Output()
	if err != nil {
		return "(none)"
	}
	words := strings.FieldsFunc(string(out), func(r rune) bool { return strings.ContainsRune(" /\n\t", r) })
	for _, word := range words {
		if word[0] >= '0' && word[0] <= '9' && strings.Contains(word, ".") {
			return word
		}
	}
	return "of an unknown version"
}
