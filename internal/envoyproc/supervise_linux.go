package envoyproc

import "syscall"

// newProcessGroup starts a child in a process group of its own and has the kernel end it with limpet, however limpet
// ends.
func newProcessGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
