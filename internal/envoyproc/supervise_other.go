//go:build !linux

package envoyproc

import "syscall"

// newProcessGroup starts a child in a process group of its own. Only Linux can tie its life to limpet's.
func newProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
