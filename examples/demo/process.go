package main

import (
	"os"
	"os/exec"
	"syscall"
	"time"
)

// stopTime is how long limpet may take to end; it gives Envoy ten seconds.
const stopTime = 15 * time.Second

// process is a running limpet.
type process struct {
	cmd   *exec.Cmd
	ended chan struct{} // closed at its end
}

// startLimpet starts limpet in a process group of its own, so that Ctrl-C comes to the demo alone,
// which then stops everything in order.
func startLimpet(program string, args ...string) (*process, error) {
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	cmd.SysProcAttr = ownGroup()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd, make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// stop ends limpet, which ends Envoy, and returns when that is done.
func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(stopTime):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}
