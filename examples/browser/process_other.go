//go:build !linux

package main

import "syscall"

// ownGroup starts a child in a process group of its own. Only Linux can tie its life to the program's.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
