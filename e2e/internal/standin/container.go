package standin

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Image is what a container image stands for.
type Image struct {
	// Files are files of this machine, by their paths in the container.
	Files map[string]string
	// Libraries are this machine's, and its devices; without them there is nothing but Files.
	Libraries bool
	// Entrypoint is what a container runs without a command, and User who runs it where the Pod names nobody.
	Entrypoint []string
	User       int
	Env        map[string]string
}

// childVariable has what a process of a container becomes.
const childVariable = "LIMPET_CLUSTER_CONTAINER"

// container is what a process of a Pod runs in and as.
type container struct {
	// Network is the file of its network namespace, and Root an empty folder.
	Network, Root string
	Mounts        []mount
	ReadOnly      bool // the root
	User, Group   int
	Groups        []int
	Command       []string
	Env           []string
}

// mount is a file or folder that a container sees.
type mount struct {
	From, To string
	Write    bool
}

// mounts are those of an image.
func (i Image) mounts() (all []mount) {
	all = append(all, mount{From: "/proc", To: "/proc", Write: true})
	if i.Libraries {
		for _, path := range []string{"/lib", "/lib64", "/usr/lib", "/dev"} {
			if _, err := os.Stat(path); err == nil {
				all = append(all, mount{From: path, To: path, Write: path == "/dev"})
			}
		}
	}
	for to, from := range i.Files {
		all = append(all, mount{From: from, To: to})
	}
	return all
}

// becomeContainer turns this process into a container's, if it is to be one.
func becomeContainer() {
	text := os.Getenv(childVariable)
	if text == "" {
		return
	}
	var c container
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		err = c.become()
	}
	fmt.Fprintln(os.Stderr, "container:", err)
	os.Exit(127)
}

func (c *container) become() error {
	runtime.LockOSThread() // the thread that joins the namespace is the one that goes on
	if err := joinNetwork(c.Network); err != nil {
		return err
	}
	if err := c.changeRoot(); err != nil {
		return err
	}
	for _, e := range c.Env {
		if path, found := strings.CutPrefix(e, "PATH="); found {
			_ = os.Setenv("PATH", path)
		}
	}
	program, err := exec.LookPath(c.Command[0])
	if err != nil {
		return err
	}
	if err := syscall.Setgroups(c.Groups); err != nil {
		return err
	}
	if err := syscall.Setgid(c.Group); err != nil {
		return err
	}
	if err := syscall.Setuid(c.User); err != nil {
		return err
	}
	return syscall.Exec(program, c.Command, c.Env)
}

// joinNetwork has the thread go to a network namespace, which a path is for.
func joinNetwork(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
}

// changeRoot makes a root with the container's mounts, and nothing else.
func (c *container) changeRoot() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", c.Root, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	// folders before what is in them
	slices.SortStableFunc(c.Mounts, func(a, b mount) int { return strings.Compare(a.To, b.To) })
	for _, m := range c.Mounts {
		if err := m.mount(c.Root); err != nil {
			return fmt.Errorf("%s: %w", m.To, err)
		}
	}
	if shared := filepath.Join(c.Root, "dev/shm"); isFolder(shared) { // each container's own
		if err := syscall.Mount("tmpfs", shared, "tmpfs", 0, "mode=1777"); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{
		"hosts":       "127.0.0.1 localhost\n",
		"resolv.conf": "nameserver " + Address + "\n",
	} {
		at := filepath.Join(c.Root, "etc", name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil { //nolint:gosec // a Pod's user reads it
			return err
		}
	}
	if c.ReadOnly {
		if err := syscall.Mount("", c.Root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("read-only root: %w", err)
		}
	}
	if err := syscall.Chroot(c.Root); err != nil {
		return err
	}
	return os.Chdir("/")
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (m mount) mount(root string) error {
	to := filepath.Join(root, m.To)
	if isFolder(m.From) {
		if err := os.MkdirAll(to, 0o755); err != nil {
			return err
		}
	} else {
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, nil, 0o644); err != nil { //nolint:gosec // another is mounted over it
			return err
		}
	}
	if err := syscall.Mount(m.From, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil || m.Write {
		return err
	}
	return syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
}
