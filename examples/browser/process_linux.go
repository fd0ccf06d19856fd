package main

import "syscall"

// ownGroup starts a child in a process group of its own, so that Ctrl-C comes to this program alone, and has the
// kernel ask it to end when this program does, even where that was killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
