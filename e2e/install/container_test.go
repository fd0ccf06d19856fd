package install

// Containers of the tests: processes in a root file system, a network and mounts of their own, as the user that their Pod says.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
)

// role says what this program is besides the tests: a container that is about to be, or the backend of docs/install.md.
const (
	role          = "LIMPET_E2E_ROLE"
	containerRole = "container"
	backendRole   = "backend"
	containerSpec = "LIMPET_E2E_CONTAINER"
)

// bind is a file or folder that a container sees.
type bind struct {
	From, To string
	Write    bool
}

// spec is what becomes a container.
type spec struct {
	Root     string // an empty folder
	Binds    []bind
	ReadOnly bool
	User     int
	Args     []string
	Env      []string
}

// command is what runs the container in the network of a process.
func (s spec) command(network int) (*exec.Cmd, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command("nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", network), "--", self)
	command.Env = []string{role + "=" + containerRole, containerSpec + "=" + string(text), "PATH=" + os.Getenv("PATH"), inside + "=1"}
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	return command, nil
}

// becomeContainer makes this process the container: it returns only where that fails.
func becomeContainer() error {
	var s spec
	if err := json.Unmarshal([]byte(os.Getenv(containerSpec)), &s); err != nil {
		return err
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := syscall.Mount("tmpfs", s.Root, "tmpfs", 0, "mode=0755"); err != nil {
		return err
	}
	for _, b := range s.Binds {
		if err := b.mount(s.Root); err != nil {
			return fmt.Errorf("%s: %w", b.To, err)
		}
	}
	if shared := filepath.Join(s.Root, "dev/shm"); isFolder(shared) { // each container's own
		if err := syscall.Mount("tmpfs", shared, "tmpfs", 0, "mode=1777"); err != nil {
			return err
		}
	}
	if s.ReadOnly {
		if err := syscall.Mount("", s.Root, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	if err := errors.Join(syscall.Chroot(s.Root), os.Chdir("/")); err != nil {
		return err
	}
	if err := errors.Join(syscall.Setgroups(nil), syscall.Setgid(s.User), syscall.Setuid(s.User)); err != nil {
		return err
	}
	program := s.Args[0]
	if !strings.Contains(program, "/") { // as the images' PATH has it
		program = "/usr/local/bin/" + program
	}
	return fmt.Errorf("%s: %w", program, syscall.Exec(program, s.Args, s.Env))
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

func (b bind) mount(root string) error {
	to := filepath.Join(root, b.To)
	info, err := os.Stat(b.From)
	if err != nil {
		return err
	}
	if info.IsDir() {
		err = os.MkdirAll(to, 0o755)
	} else if err = os.MkdirAll(filepath.Dir(to), 0o755); err == nil {
		err = os.WriteFile(to, nil, 0o644)
	}
	if err != nil {
		return err
	}
	if err := syscall.Mount(b.From, to, "", syscall.MS_BIND|syscall.MS_REC, ""); err != nil || b.Write {
		return err
	}
	return syscall.Mount("", to, "", syscall.MS_BIND|syscall.MS_REMOUNT|syscall.MS_RDONLY, "")
}

// newPodNetwork gives a process in a network of its own with that address.
func newPodNetwork(address string, index int) (*exec.Cmd, error) {
	pause := exec.Command("sleep", "infinity")
	pause.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := pause.Start(); err != nil {
		return nil, err
	}
	here, there := fmt.Sprintf("pod%d", index), fmt.Sprintf("eth%d", index)
	within := func(words ...string) error {
		words = append([]string{fmt.Sprintf("--net=/proc/%d/ns/net", pause.Process.Pid), "ip"}, words...)
		if text, err := exec.Command("nsenter", words...).CombinedOutput(); err != nil {
			return fmt.Errorf("ip %v: %w: %s", words, err, text)
		}
		return nil
	}
	for _, do := range []func() error{
		func() error { return ip("link", "add", here, "type", "veth", "peer", "name", there) },
		func() error { return ip("link", "set", there, "netns", fmt.Sprint(pause.Process.Pid)) },
		func() error { return ip("link", "set", here, "master", "pods", "up") },
		func() error { return within("link", "set", "lo", "up") },
		func() error { return within("address", "add", address+"/16", "dev", there) },
		func() error { return within("link", "set", there, "up") },
		func() error { return within("route", "add", "default", "via", nodeAddress) },
		func() error { // as the Pods' sysctls ask for
			return exec.Command("nsenter", fmt.Sprintf("--net=/proc/%d/ns/net", pause.Process.Pid),
				"sh", "-c", "echo 0 > /proc/sys/net/ipv4/ip_unprivileged_port_start").Run()
		},
	} {
		if err := do(); err != nil {
			_ = pause.Process.Kill()
			return nil, err
		}
	}
	return pause, nil
}

// rootOf gives what an image has in its root file system, and the arguments that its entry point is.
func (n *node) rootOf(image string) ([]bind, []string, error) {
	switch repository, _, _ := strings.Cut(image, ":"); filepath.Base(strings.Split(repository, "@")[0]) {
	case "limpet": // from scratch: the program, and nothing else (TestControllerImage)
		return []bind{{From: n.limpet, To: "/usr/local/bin/limpet"}, {From: "/proc", To: "/proc", Write: true}}, []string{"limpet"}, nil
	case "envoy", "limpet-envoy":
		return append(systemBinds(), bind{From: n.envoy, To: "/usr/local/bin/envoy"}), []string{"envoy"}, nil
	case "echo-basic":
		self, err := os.Executable()
		return append(systemBinds(), bind{From: self, To: "/echo"}), []string{"/echo"}, err
	default:
		return nil, nil, fmt.Errorf("the node has no image %s", image)
	}
}

// systemBinds are the libraries of this machine.
func systemBinds() (all []bind) {
	for _, path := range []string{"/lib", "/lib64", "/usr/lib", "/dev", "/proc"} {
		if _, err := os.Stat(path); err == nil {
			all = append(all, bind{From: path, To: path, Write: path == "/dev" || path == "/proc"})
		}
	}
	return all
}

// serveBackend answers each request with the Pod's name.
func serveBackend() error {
	at, err := net.Listen("tcp", ":3000")
	if err != nil {
		return err
	}
	return http.Serve(at, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, os.Getenv("POD_NAME")) }))
}

// userOf is whom a container runs as.
func userOf(pod *corev1.PodSpec, c *corev1.Container) int {
	if c.SecurityContext != nil && c.SecurityContext.RunAsUser != nil {
		return int(*c.SecurityContext.RunAsUser)
	}
	if pod.SecurityContext != nil && pod.SecurityContext.RunAsUser != nil {
		return int(*pod.SecurityContext.RunAsUser)
	}
	return 65532
}
