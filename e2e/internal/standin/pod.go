package standin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os/exec"
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
		o, err := p.node.client.CoreV1().
			Pods(p.object.Namespace).
			Get(context.Background(), p.object.Name, metav1.GetOptions{})
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
		if _, err = p.node.client.CoreV1().Pods(p.object.Namespace).UpdateStatus(context.Background(), o,
			metav1.UpdateOptions{}); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
