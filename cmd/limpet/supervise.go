package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// envoyGrace is how long Envoy may take to end after it was asked to.
const envoyGrace = 10 * time.Second

// supervise runs a program to its end and returns its exit code as an exited, or nil for 0. Signals are passed on,
// SIGHUP as SIGTERM (the terminal is gone, and Envoy would not mind); the program is killed if it has not ended
// when grace has passed since the first. It gets a process group of its own, so that Ctrl-C reaches it once,
// through limpet, and nothing of it is left behind.
func supervise(cmd *exec.Cmd, signals <-chan os.Signal, grace time.Duration) error {
	// The kernel ties the child's life to the thread that starts it, so that thread must last.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return err
	}
	group := -cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var patience <-chan time.Time
	for {
		select {
		case s := <-signals:
			_ = syscall.Kill(group, passedOn(s))
			if patience == nil {
				patience = time.After(grace)
			}
		case <-patience:
			_ = syscall.Kill(group, syscall.SIGKILL)
		case err := <-ended:
			_ = syscall.Kill(group, syscall.SIGKILL) // what a wrapper script may have left
			return exitOf(err)
		}
	}
}

// passedOn is the signal to send for one received.
func passedOn(s os.Signal) syscall.Signal {
	if s, ok := s.(syscall.Signal); ok && s != syscall.SIGHUP {
		return s
	}
	return syscall.SIGTERM
}

// exitOf turns the result of Wait into limpet's own: a program ended by signal N counts as exit code 128+N,
// as in a shell.
func exitOf(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exited{128 + int(status.Signal()), fmt.Sprintf("Envoy was ended by a signal: %v", status.Signal())}
	}
	return exited{code: exit.ExitCode()}
}
