package harness

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// container is where limpets are put that a test starts; empty for nowhere.
var container string

// Contain gives the limpets that a test starts from now on the memory of a container: a control group with a limit,
// which ends what needs more. It tells whether that can be done here.
func Contain(t testing.TB, bytes int) bool {
	t.Helper()
	for folder, file := range map[string]string{
		"/sys/fs/cgroup/memory": "memory.limit_in_bytes",
		"/sys/fs/cgroup":        "memory.max",
	} {
		group := filepath.Join(folder, fmt.Sprintf("limpet-test-%d", os.Getpid()))
		if os.Mkdir(group, 0o700) != nil {
			continue
		}
		t.Cleanup(func() { _ = os.Remove(group) }) // once what is in it has ended
		if _, err := os.Stat(filepath.Join(group, file)); err != nil {
			continue
		}
		if os.WriteFile(filepath.Join(group, file), []byte(strconv.Itoa(bytes)), 0o600) == nil {
			container = filepath.Join(group, "cgroup.procs")
			t.Cleanup(func() { container = "" })
			return true
		}
	}
	return false
}

// contained is a command that is in the container from its beginning, if there is one.
func contained(program string, args []string) *exec.Cmd {
	if container == "" {
		return exec.Command(program, args...)
	}
	return exec.Command("sh", append([]string{"-c", `echo $$ > "$0" && exec "$@"`, container, program}, args...)...)
}
