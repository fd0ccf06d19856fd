package main

import "syscall"

// ownGroup starts a child in a process group of its own and has the kernel end it with limpet, however limpet ends.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
