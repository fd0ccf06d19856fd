package node

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// childVariable has what a process of a container becomes.
const childVariable = "LIMPET_E2E_CONTAINER"

// container is what a process of a Pod runs in and as.
type container struct {
	// Network is the file of its network namespace, and Root an empty folder.
	Network, Root string
	// Mounts are files and folders of this machine, by paths in the container; ReadOnly is about its root.
	Mounts   map[string]string
	ReadOnly bool
	User     int
	Command  []string
	Env      []string
}

// BecomeContainer is to be called first in a test's main: the program starts itself anew for each process of a container. It returns
// where that is not so.
func BecomeContainer() {
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

// become turns this process into one of the container.
func (c *container) become() error {
	runtime.LockOSThread() // the thread that joins the namespace is the one that goes on
	if err := c.joinNetwork(); err != nil {
		return err
	}
	if err := c.changeRoot(); err != nil {
		return err
	}
	_ = os.Setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
	program, err := exec.LookPath(c.Command[0])
	if err != nil {
		return err
	}
	if c.User > 0 {
		if err := syscall.Setgid(c.User); err != nil {
			return err
		}
		if err := syscall.Setuid(c.User); err != nil {
			return err
		}
	}
	return syscall.Exec(program, c.Command, append(c.Env, "PATH="+os.Getenv("PATH"), "HOME=/"))
}

func (c *container) joinNetwork() error {
	file, err := os.Open(c.Network)
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.Setns(int(file.Fd()), unix.CLONE_NEWNET)
}

// changeRoot makes a root of this machine's, with the container's mounts.
func (c *container) changeRoot() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("root", c.Root, "tmpfs", 0, ""); err != nil {
		return err
	}
	folders := map[string]string{}
	for _, name := range []string{"upper", "work", "merged"} {
		folders[name] = filepath.Join(c.Root, name)
		if err := os.Mkdir(folders[name], 0o755); err != nil {
			return err
		}
	}
	root := folders["merged"]
	options := "lowerdir=/,upperdir=" + folders["upper"] + ",workdir=" + folders["work"]
	if err := syscall.Mount("overlay", root, "overlay", 0, options); err != nil {
		return fmt.Errorf("overlay: %w", err)
	}
	mounts := map[string]string{"/proc": "/proc", "/dev": "/dev"}
	for at, from := range c.Mounts {
		mounts[at] = from
	}
	for at, from := range mounts {
		if err := bind(from, filepath.Join(root, at)); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"hosts": "127.0.0.1 localhost\n", "resolv.conf": "nameserver " + gateway + "\n"} {
		at := filepath.Join(root, "etc", name)
		_ = os.Remove(at)                                             // it may be a link
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil { //nolint:gosec // a Pod's user reads it
			return err
		}
	}
	if c.ReadOnly {
		if err := syscall.Mount("", root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			return fmt.Errorf("read-only root: %w", err)
		}
	}
	if err := syscall.Chroot(root); err != nil {
		return err
	}
	return os.Chdir("/")
}

// bind mounts a file or folder.
func bind(from, to string) error {
	info, err := os.Stat(from)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		_ = os.Remove(to)
		err = os.WriteFile(to, nil, 0o755) //nolint:gosec // a program is mounted over it
	}
	if err != nil {
		return err
	}
	if err := syscall.Mount(from, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil {
		return fmt.Errorf("%s at %s: %w", from, to, err)
	}
	return nil
}
