package rig

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Cores are the processors that Envoy and the load run on; both are -1 on a machine with one.
type Cores struct{ Envoy, Load int }

// TakeCores puts this process, load and backends, onto the first processor and leaves the last one to Envoy.
func TakeCores() (Cores, error) {
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return Cores{}, err
	}
	cores := Cores{-1, -1}
	for cpu := range 64 * len(allowed) {
		if !allowed.IsSet(cpu) {
			continue
		}
		if cores.Load < 0 {
			cores.Load = cpu
		}
		cores.Envoy = cpu
	}
	if cores.Envoy == cores.Load {
		return Cores{-1, -1}, nil
	}
	threads, err := filepath.Glob("/proc/self/task/*")
	if err != nil {
		return Cores{}, err
	}
	for _, thread := range threads {
		id, _ := strconv.Atoi(filepath.Base(thread))
		// A thread that has ended meanwhile needs no processor; those to come inherit from one of these.
		if err := unix.SchedSetaffinity(id, only(cores.Load)); err != nil && err != unix.ESRCH {
			return Cores{}, err
		}
	}
	runtime.GOMAXPROCS(1)
	return cores, nil
}

func only(cpu int) *unix.CPUSet {
	var set unix.CPUSet
	set.Set(cpu)
	return &set
}

// runOnCore starts a command that has that processor for its own, any if it is negative, and closes done when it has
// ended. The thread that starts it lends it its processor, and must outlive it: Pdeathsig acts when that thread ends.
func runOnCore(cpu int, command *exec.Cmd, done chan<- struct{}) error {
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
		var err error
		if cpu >= 0 {
			err = unix.SchedSetaffinity(0, only(cpu))
		}
		if err == nil {
			err = command.Start()
		}
		started <- err
		if err == nil {
			_ = command.Wait() // the command's log has what matters
			close(done)
		}
	}()
	return <-started
}

// worker finds the thread that serves requests in an Envoy with one worker.
func worker(pid int) (string, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", pid))
	if err != nil {
		return "", err
	}
	for _, thread := range threads {
		if name, err := os.ReadFile(filepath.Join(thread, "comm")); err == nil &&
			strings.TrimSpace(string(name)) == "wrk:worker_0" {
			return thread, nil
		}
	}
	return "", fmt.Errorf("process %d has no thread wrk:worker_0", pid)
}

// ReadCPU gives the processor time that a thread has used, in user and system mode (the first field of schedstat, in
// ns).
func ReadCPU(thread string) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(thread, "schedstat"))
	if err != nil {
		return 0, err
	}
	first, _, _ := strings.Cut(string(text), " ")
	ns, err := strconv.ParseInt(first, 10, 64)
	return time.Duration(ns), err
}
