package standin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// pod is a Pod on this machine. One that is only to be forgotten has no leave.
type pod struct {
	node   *Node
	object *corev1.Pod
	ip     string
	index  int
	// leave gets the grace period when the Pod is to end.
	leave   chan time.Duration
	leaving bool

	pause *exec.Cmd         // has the network namespace
	files map[string]string // folders of volumes, by their names
	env   map[string]string // of the container, once it runs
	log   podLog
	ready bool
	phase corev1.PodPhase // once its container has ended for good
}

// live is the life of a Pod.
func (p *pod) live() {
	defer p.forget()
	if err := p.begin(); err != nil {
		p.say("%v", err)
		<-p.leave
		return
	}
	defer func() {
		_ = p.pause.Process.Kill()
		_ = p.pause.Wait()
	}()
	for {
		grace, again := p.runOnce()
		if !again {
			p.say("ended; grace was %v", grace)
			return
		}
	}
}

// say writes into the Pod's log.
func (p *pod) say(format string, args ...any) { fmt.Fprintf(&p.log, "node: "+format+"\n", args...) }

// begin gives the Pod its network and volumes, and runs its init containers.
func (p *pod) begin() error {
	p.say("begins at %s", p.ip)
	if n := len(p.object.Spec.Containers); n != 1 {
		return fmt.Errorf("%d containers: one is known here", n)
	}
	if err := p.makeNetwork(); err != nil {
		return err
	}
	for _, v := range p.object.Spec.Volumes {
		if err := p.makeVolume(v); err != nil {
			return fmt.Errorf("volume %s: %w", v.Name, err)
		}
	}
	for i := range p.object.Spec.InitContainers {
		c := &p.object.Spec.InitContainers[i]
		command, err := p.command(c, nil)
		if err == nil {
			err = command.Run()
		}
		if err != nil {
			return fmt.Errorf("init container %s: %w", c.Name, err)
		}
	}
	return nil
}

// runOnce runs the container until it ends, or the Pod does.
func (p *pod) runOnce() (grace time.Duration, again bool) {
	c := &p.object.Spec.Containers[0]
	command, err := p.command(c, nil)
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		p.say("container %s: %v", c.Name, err)
		return <-p.leave, false
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	p.say("container %s runs", c.Name)
	p.report(c.ReadinessProbe == nil)
	probing, stop := context.WithCancel(context.Background())
	defer stop()
	go p.probe(probing, c)
	select {
	case err := <-ended:
		p.say("container %s ended: %v", c.Name, err)
		stop()
		if p.object.Spec.RestartPolicy == corev1.RestartPolicyNever {
			p.phase = corev1.PodSucceeded
			if err != nil {
				p.phase = corev1.PodFailed
			}
			p.report(false)
			return <-p.leave, false
		}
		p.report(false)
		select {
		case grace = <-p.leave:
			return grace, false
		case <-time.After(500 * time.Millisecond):
			return 0, true
		}
	case grace = <-p.leave:
		p.end(c, command, ended, grace)
		return grace, false
	}
}

// end has a container end as a kubelet does: its hook, SIGTERM, and SIGKILL when the grace period is over.
func (p *pod) end(c *corev1.Container, command *exec.Cmd, ended <-chan error, grace time.Duration) {
	deadline := time.Now().Add(grace)
	if hook := c.Lifecycle; grace > 0 && hook != nil && hook.PreStop != nil && hook.PreStop.Exec != nil {
		ctx, stop := context.WithDeadline(context.Background(), deadline)
		defer stop()
		begun := time.Now()
		prestop, err := p.command(c, hook.PreStop.Exec.Command)
		if err == nil {
			err = prestop.Start()
		}
		if err == nil {
			done := make(chan error, 1)
			go func() { done <- prestop.Wait() }()
			select {
			case err = <-done:
			case <-ctx.Done():
				err = errors.Join(ctx.Err(), prestop.Process.Kill())
			}
		}
		p.say("preStop took %v: %v", time.Since(begun).Round(time.Millisecond), err)
	}
	_ = command.Process.Signal(syscall.SIGTERM)
	select {
	case <-ended:
	case <-time.After(max(0, time.Until(deadline))):
		_ = command.Process.Kill()
		<-ended
	}
}

// forget takes the Pod out of the API server.
func (p *pod) forget() {
	none := int64(0)
	uid := p.object.UID
	for range 20 {
		err := p.node.client.CoreV1().Pods(p.object.Namespace).Delete(context.Background(), p.object.Name,
			metav1.DeleteOptions{GracePeriodSeconds: &none, Preconditions: &metav1.Preconditions{UID: &uid}})
		if err == nil || !strings.Contains(err.Error(), "refused") {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// command makes a process of a container; instead is another command than its own.
func (p *pod) command(c *corev1.Container, instead []string) (*exec.Cmd, error) {
	image, err := p.node.image(c.Image)
	if err != nil {
		return nil, err
	}
	env := p.env
	if instead == nil {
		if env, err = p.environment(c, image); err != nil {
			return nil, err
		}
		p.env = env
	}
	words := instead
	if words == nil {
		words = append(append([]string{}, c.Command...), c.Args...)
		if len(c.Command) == 0 {
			words = append(append([]string{}, image.Entrypoint...), c.Args...)
		}
	}
	root, err := os.MkdirTemp(p.node.folder, "root")
	if err != nil {
		return nil, err
	}
	spec := container{Network: p.network(), Root: root, Mounts: image.mounts()}
	p.setUser(&spec, c, image.User)
	for _, m := range c.VolumeMounts {
		spec.Mounts = append(spec.Mounts, mount{From: filepath.Join(p.files[m.Name], m.SubPath), To: m.MountPath, Write: !m.ReadOnly})
	}
	if s := c.SecurityContext; s != nil && s.ReadOnlyRootFilesystem != nil {
		spec.ReadOnly = *s.ReadOnlyRootFilesystem
	}
	for _, w := range words {
		spec.Command = append(spec.Command, expand(w, env))
	}
	for name, value := range env {
		spec.Env = append(spec.Env, name+"="+value)
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return nil, err
	}
	command := exec.Command("/proc/self/exe")
	command.Env = []string{childVariable + "=" + string(text)}
	command.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS, Pdeathsig: syscall.SIGKILL}
	command.Stdout, command.Stderr = &p.log, &p.log
	return command, nil
}

// setUser has a container run as whom its Pod says.
func (p *pod) setUser(spec *container, c *corev1.Container, user int) {
	spec.User, spec.Group = user, user
	if s := p.object.Spec.SecurityContext; s != nil {
		if s.RunAsUser != nil {
			spec.User, spec.Group = int(*s.RunAsUser), int(*s.RunAsUser)
		}
		if s.FSGroup != nil {
			spec.Groups = []int{int(*s.FSGroup)}
		}
	}
	if s := c.SecurityContext; s != nil && s.RunAsUser != nil {
		spec.User, spec.Group = int(*s.RunAsUser), int(*s.RunAsUser)
	}
}

// environment is that of a container, whose values may name others that come before.
func (p *pod) environment(c *corev1.Container, image Image) (map[string]string, error) {
	env := map[string]string{
		"KUBERNETES_SERVICE_HOST": Address, "KUBERNETES_SERVICE_PORT": serverPort, "HOSTNAME": p.object.Name, "HOME": "/",
		"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
	}
	maps.Copy(env, image.Env)
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
			env[e.Name] = expand(e.Value, env)
		case from.FieldRef != nil:
			env[e.Name] = p.field(from.FieldRef.FieldPath)
		case from.SecretKeyRef != nil:
			s, err := p.node.client.CoreV1().Secrets(p.object.Namespace).Get(context.Background(), from.SecretKeyRef.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			env[e.Name] = string(s.Data[from.SecretKeyRef.Key])
		default:
			return nil, fmt.Errorf("env %s: not known here", e.Name)
		}
	}
	return env, nil
}

// field gives one of the downward API.
func (p *pod) field(path string) string {
	return map[string]string{
		"metadata.name": p.object.Name, "metadata.namespace": p.object.Namespace, "status.podIP": p.ip, "spec.nodeName": nodeName,
	}[path]
}

// expand replaces $(NAME), as Kubernetes does: $$ is a dollar, and what is not known stays.
func expand(text string, env map[string]string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		if text[i+1] == '$' {
			out.WriteByte('$')
			i++
			continue
		}
		end := strings.IndexByte(text[i:], ')')
		if text[i+1] != '(' || end < 0 {
			out.WriteByte('$')
			continue
		}
		value, known := env[text[i+2:i+end]]
		if !known {
			value = text[i : i+end+1]
		}
		out.WriteString(value)
		i += end
	}
	return out.String()
}

// network is the path of the Pod's network namespace.
func (p *pod) network() string { return fmt.Sprintf("/proc/%d/ns/net", p.pause.Process.Pid) }

// makeNetwork gives the Pod a network namespace with an address.
func (p *pod) makeNetwork() error {
	p.pause = exec.Command("sleep", "infinity")
	p.pause.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
	if err := p.pause.Start(); err != nil {
		return err
	}
	pid, link := strconv.Itoa(p.pause.Process.Pid), fmt.Sprintf("pod%d", p.index)
	in := "nsenter -t " + pid + " -n "
	commands := []string{
		"ip link add " + link + " type veth peer name eth0 netns " + pid, "ip link set " + link + " master " + bridge + " up",
		in + "ip link set lo up", in + "ip addr add " + p.ip + "/16 dev eth0", in + "ip link set eth0 up",
		in + "ip route add default via " + Address,
	}
	if s := p.object.Spec.SecurityContext; s != nil {
		for _, one := range s.Sysctls {
			commands = append(commands, in+"sysctl -q -w "+one.Name+"="+one.Value)
		}
	}
	for _, one := range commands {
		if err := run(one); err != nil {
			return err
		}
	}
	return nil
}

// probe asks whether the container is ready.
func (p *pod) probe(ctx context.Context, c *corev1.Container) {
	probe := c.ReadinessProbe
	if probe == nil || probe.HTTPGet == nil {
		return
	}
	port := probe.HTTPGet.Port.String()
	for _, named := range c.Ports {
		if named.Name == port {
			port = strconv.Itoa(int(named.ContainerPort))
		}
	}
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	failed := int32(0)
	for ctx.Err() == nil {
		time.Sleep(time.Duration(max(1, probe.PeriodSeconds)) * time.Second / 4) // tests are in a hurry
		answer, err := client.Get("http://" + p.ip + ":" + port + probe.HTTPGet.Path)
		if err == nil {
			_ = answer.Body.Close()
		}
		if good := err == nil && answer.StatusCode >= 200 && answer.StatusCode < 400; good {
			failed = 0
		} else {
			failed++
		}
		if ready := failed == 0; ctx.Err() == nil && ready != p.ready && (ready || failed >= max(1, probe.FailureThreshold)) {
			p.say("ready: %v", ready)
			p.report(ready)
		}
	}
}

// report writes the Pod's status.
func (p *pod) report(ready bool) {
	p.ready = ready
	state := corev1.ConditionFalse
	if ready {
		state = corev1.ConditionTrue
	}
	condition := func(kind corev1.PodConditionType, s corev1.ConditionStatus) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: s, LastTransitionTime: metav1.Now()}
	}
	for range 20 {
		o, err := p.node.client.CoreV1().Pods(p.object.Namespace).Get(context.Background(), p.object.Name, metav1.GetOptions{})
		if err != nil || o.UID != p.object.UID {
			return
		}
		now := metav1.Now()
		o.Status.Phase, o.Status.StartTime = cmp.Or(p.phase, corev1.PodRunning), &now
		o.Status.PodIP, o.Status.PodIPs = p.ip, []corev1.PodIP{{IP: p.ip}}
		o.Status.HostIP, o.Status.HostIPs = Address, []corev1.HostIP{{IP: Address}}
		o.Status.Conditions = []corev1.PodCondition{
			condition(corev1.PodScheduled, corev1.ConditionTrue), condition(corev1.PodInitialized, corev1.ConditionTrue),
			condition(corev1.ContainersReady, state), condition(corev1.PodReady, state),
		}
		o.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: p.object.Spec.Containers[0].Name, Image: p.object.Spec.Containers[0].Image, Ready: ready,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.Now()}},
		}}
		if _, err = p.node.client.CoreV1().Pods(p.object.Namespace).UpdateStatus(context.Background(), o, metav1.UpdateOptions{}); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
