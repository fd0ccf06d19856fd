package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// profile is where valgrind writes, with a number behind it for each dump and another for each thread.
const profile = "instructions"

// counting is the command that runs Envoy so that its instructions can be counted. V8 writes code as it runs, which
// valgrind must be told.
func counting(dir string) []string {
	return []string{
		"valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes", "--smc-check=all-non-file",
		"--callgrind-out-file=" + filepath.Join(dir, profile), "--quiet",
	}
}

// Instructions counts the instructions that the worker takes outside of the kernel while do runs. Envoy must have been
// started with Rig.Counting.
func (e *Envoy) Instructions(do func() error) (int64, error) {
	if err := e.callgrind("--instr=on"); err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	for _, order := range []string{"--instr=off", "--dump"} {
		if err := e.callgrind(order); err != nil {
			return 0, err
		}
	}
	return takeProfile(filepath.Dir(e.log))
}

func (e *Envoy) callgrind(order string) error {
	out, err := exec.Command("callgrind_control", order, strconv.Itoa(e.command.Process.Pid)).CombinedOutput()
	if err != nil {
		return fmt.Errorf("callgrind_control %s: %w: %s", order, err, out)
	}
	return nil
}

var totals = regexp.MustCompile(`(?m)^totals: (\d+)`)

// takeProfile reads and removes the files of one dump. The thread with the most instructions is the worker's: nothing
// else has work to do.
func takeProfile(dir string) (int64, error) {
	paths, err := filepath.Glob(filepath.Join(dir, profile+".*"))
	if err != nil {
		return 0, err
	}
	var most int64
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		if match := totals.FindSubmatch(text); match != nil {
			count, _ := strconv.ParseInt(string(match[1]), 10, 64)
			most = max(most, count)
		}
		if err := os.Remove(path); err != nil {
			return 0, err
		}
	}
	if most == 0 {
		return 0, fmt.Errorf("valgrind wrote no counts: %d files", len(paths))
	}
	return most, nil
}
