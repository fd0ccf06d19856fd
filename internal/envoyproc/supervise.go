// Package envoyproc finds an Envoy, checks that it can listen on its addresses, and runs it.
package envoyproc

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// Grace is how long Envoy may take to end after it was asked to.
const Grace = 10 * time.Second

// ExitError is the end of a program with another exit code than 0, or that nobody asked for.
type ExitError struct {
	Code int
	// Reason is for people, where the program could not say it itself; empty where it could.
	Reason string
}

// Error gives the reason, or the exit code.
func (e ExitError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("exit code %d", e.Code)
	}
	return e.Reason
}

// Supervise runs a program to its end and returns its exit code as an ExitError, or nil for 0 after a signal. Those are
// passed on, SIGHUP as SIGTERM (the terminal is gone, and Envoy would not mind); the program is killed if it has not
// ended when grace has passed since the first. It gets a process group of its own, so that Ctrl-C reaches it once,
// through limpet, and nothing of it is left behind.
func Supervise(cmd *exec.Cmd, signals <-chan os.Signal, grace time.Duration) error {
	// The kernel ties the child's life to the thread that starts it, so that thread must last.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = newProcessGroup()
	if err := cmd.Start(); err != nil {
		return err
	}
	group := -cmd.Process.Pid
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var deadline <-chan time.Time
	for {
		select {
		case s := <-signals:
			_ = syscall.Kill(group, translateSignal(s))
			if deadline == nil {
				deadline = time.After(grace)
			}
		case <-deadline:
			_ = syscall.Kill(group, syscall.SIGKILL)
		case err := <-ended:
			_ = syscall.Kill(group, syscall.SIGKILL) // what a wrapper script may have left
			if err == nil && deadline == nil {
				return ExitError{}
			}
			return exitError(err)
		}
	}
}

// translateSignal returns the signal to pass on for a received one.
func translateSignal(s os.Signal) syscall.Signal {
	if s, ok := s.(syscall.Signal); ok && s != syscall.SIGHUP {
		return s
	}
	return syscall.SIGTERM
}

// exitError turns the result of Wait into an ExitError: a program ended by signal N counts as exit code 128+N,
// as in a shell.
func exitError(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return ExitError{128 + int(status.Signal()), fmt.Sprintf("Envoy was ended by a signal: %v", status.Signal())}
	}
	return ExitError{Code: exit.ExitCode()}
}
