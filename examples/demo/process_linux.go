package main

import "syscall"

// ownGroup starts a child in a process group of its own and has the kernel ask it to end when the demo ends,
// even where the demo was killed.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
