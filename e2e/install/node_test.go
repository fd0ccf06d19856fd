package install

// The node of the tests' cluster: a stand-in for kubelet runs the containers of the Pods that the real scheduler has put there, from
// their real templates, probes them, and ends them; and one for kube-proxy makes Services' addresses lead to their ready Pods.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

const nodeName = "node"

// node is a stand-in for kubelet, and for kube-proxy.
type node struct {
	client        kubernetes.Interface
	folder        string
	limpet, envoy string
	serverCA      []byte // of the API server

	lock      sync.Mutex
	pods      map[string]*pod
	started   int
	forwarded map[string]*forward // by a Service's address and port
	hosts     map[string]string   // addresses of Services by name
}

// pod is one that runs.
type pod struct {
	address  string
	pause    *exec.Cmd
	commands map[string]*exec.Cmd
	ended    chan struct{}
	logs     map[string]string // files, by container
	failed   error
}

// forward is a port of a Service.
type forward struct {
	lock sync.Mutex
	to   []string
	next int
}

// register makes the Node, ready from the start.
func (n *node) register(ctx context.Context) error {
	o := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{"kubernetes.io/hostname": nodeName, "kubernetes.io/os": "linux"}}}
	if _, err := n.client.CoreV1().Nodes().Create(ctx, o, metav1.CreateOptions{}); err != nil {
		return err
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1000"), corev1.ResourceMemory: resource.MustParse("1000Gi"), corev1.ResourcePods: resource.MustParse("1000"),
	}
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error { // controllers write it, too
		o, err := n.client.CoreV1().Nodes().Get(ctx, nodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		o.Spec.Taints = nil // admission adds one, which the controller would take away that is not here
		if o, err = n.client.CoreV1().Nodes().Update(ctx, o, metav1.UpdateOptions{}); err != nil {
			return err
		}
		o.Status = corev1.NodeStatus{
			Capacity: room, Allocatable: room, Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "StandIn"}},
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress}},
		}
		_, err = n.client.CoreV1().Nodes().UpdateStatus(ctx, o, metav1.UpdateOptions{})
		return err
	})
}

// run does a node's work until ctx ends.
func (n *node) run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := errors.Join(n.lookAtPods(ctx), n.lookAtServices(ctx)); err != nil && ctx.Err() == nil {
			fmt.Println("node:", err)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (n *node) lookAtPods(ctx context.Context) error {
	list, err := n.client.CoreV1().Pods("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range list.Items {
		p := &list.Items[i]
		key := p.Namespace + "/" + p.Name
		n.lock.Lock()
		running := n.pods[key]
		n.lock.Unlock()
		switch {
		case p.Spec.NodeName != nodeName:
		case p.DeletionTimestamp != nil && running != nil:
			n.lock.Lock()
			delete(n.pods, key)
			n.lock.Unlock()
			go n.end(ctx, p, running)
		case p.DeletionTimestamp != nil || running != nil:
		default:
			n.begin(ctx, p)
		}
	}
	return nil
}

// begin starts a Pod; what it needs may come yet.
func (n *node) begin(ctx context.Context, p *corev1.Pod) {
	n.lock.Lock()
	n.started++
	index := n.started
	running := &pod{
		address: fmt.Sprintf("10.244.%d.%d", index/250+1, index%250+1), commands: map[string]*exec.Cmd{}, ended: make(chan struct{}), logs: map[string]string{},
	}
	n.pods[p.Namespace+"/"+p.Name] = running
	n.lock.Unlock()
	go func() {
		defer close(running.ended)
		if err := n.start(ctx, p.DeepCopy(), running, index); err != nil && ctx.Err() == nil {
			running.failed = err
			fmt.Println("node: pod", p.Namespace, p.Name, err)
		}
	}()
}

// start runs a Pod's containers, and reports them until they end.
func (n *node) start(ctx context.Context, p *corev1.Pod, running *pod, index int) (err error) {
	if running.pause, err = newPodNetwork(running.address, index); err != nil {
		return err
	}
	defer func() {
		_ = running.pause.Process.Kill()
		_ = running.pause.Wait()
	}()
	p.Status.PodIP = running.address
	volumes, err := n.awaitVolumes(ctx, p)
	if err != nil {
		return err
	}
	for i := range p.Spec.InitContainers {
		command, err := n.launch(ctx, p, &p.Spec.InitContainers[i], running, volumes)
		if err != nil {
			return err
		}
		if err := command.Wait(); err != nil {
			return fmt.Errorf("%s: %w", p.Spec.InitContainers[i].Name, err)
		}
	}
	var all sync.WaitGroup
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for i := range p.Spec.Containers {
		c := &p.Spec.Containers[i]
		command, err := n.launch(ctx, p, c, running, volumes)
		if err != nil {
			return err
		}
		n.lock.Lock()
		running.commands[c.Name] = command
		n.lock.Unlock()
		all.Go(func() { err = errors.Join(err, command.Wait()) })
	}
	go n.report(ctx, p, running.address)
	all.Wait()
	return nil
}

// launch starts a container.
func (n *node) launch(ctx context.Context, p *corev1.Pod, c *corev1.Container, running *pod, volumes map[string]string) (*exec.Cmd, error) {
	binds, args, err := n.rootOf(c.Image)
	if err != nil {
		return nil, err
	}
	environment, err := n.environment(ctx, p, c)
	if err != nil {
		return nil, err
	}
	if len(c.Command) > 0 {
		args = c.Command
	}
	dir := filepath.Join(n.folder, "pods", p.Namespace+"_"+p.Name+"_"+c.Name)
	if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
		return nil, err
	}
	s := spec{Root: filepath.Join(dir, "root"), Binds: append(binds, bind{From: n.hostsFile(), To: "/etc/hosts"}), User: userOf(&p.Spec, c)}
	s.ReadOnly = c.SecurityContext != nil && c.SecurityContext.ReadOnlyRootFilesystem != nil && *c.SecurityContext.ReadOnlyRootFilesystem
	for _, m := range c.VolumeMounts {
		s.Binds = append(s.Binds, bind{From: filepath.Join(volumes[m.Name], m.SubPath), To: m.MountPath, Write: !m.ReadOnly})
	}
	expand := func(text string) string {
		parts := strings.Split(text, "$$") // which is one
		for i := range parts {
			for name, value := range environment {
				parts[i] = strings.ReplaceAll(parts[i], "$("+name+")", value)
			}
		}
		return strings.Join(parts, "$")
	}
	for _, arg := range append(slices.Clone(args), c.Args...) {
		s.Args = append(s.Args, expand(arg))
	}
	for name, value := range environment {
		s.Env = append(s.Env, name+"="+value)
	}
	command, err := s.command(running.pause.Process.Pid)
	if err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	n.lock.Lock()
	running.logs[c.Name] = log.Name()
	n.lock.Unlock()
	command.Stdout, command.Stderr = log, log
	return command, command.Start()
}

// environment is that of a container.
func (n *node) environment(ctx context.Context, p *corev1.Pod, c *corev1.Container) (map[string]string, error) {
	all := map[string]string{
		"KUBERNETES_SERVICE_HOST": nodeAddress, "KUBERNETES_SERVICE_PORT": serverPort, "HOSTNAME": p.Name, "PATH": "/usr/local/bin:/usr/bin:/bin",
		"POD_NAME": p.Name,
	}
	if strings.Contains(c.Image, "/echo-basic:") {
		all[role] = backendRole
	}
	for _, e := range c.Env {
		switch from := e.ValueFrom; {
		case from == nil:
			all[e.Name] = e.Value
		case from.FieldRef != nil:
			all[e.Name] = map[string]string{
				"metadata.name": p.Name, "metadata.namespace": p.Namespace, "status.podIP": p.Status.PodIP, "spec.nodeName": nodeName,
			}[from.FieldRef.FieldPath]
		case from.SecretKeyRef != nil:
			secret, err := n.client.CoreV1().Secrets(p.Namespace).Get(ctx, from.SecretKeyRef.Name, metav1.GetOptions{})
			if err != nil {
				return nil, err
			}
			all[e.Name] = string(secret.Data[from.SecretKeyRef.Key])
		default:
			return nil, fmt.Errorf("%s: the stand-in knows no such source", e.Name)
		}
	}
	return all, nil
}

// awaitVolumes waits until all that volumes are made of is there, as kubelet does.
func (n *node) awaitVolumes(ctx context.Context, p *corev1.Pod) (map[string]string, error) {
	for ctx.Err() == nil {
		all, err := n.makeVolumes(ctx, p)
		if !apierrors.IsNotFound(err) {
			return all, err
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, ctx.Err()
}

// makeVolumes writes a Pod's volumes, and gives their folders.
func (n *node) makeVolumes(ctx context.Context, p *corev1.Pod) (map[string]string, error) {
	all := map[string]string{}
	for _, v := range p.Spec.Volumes {
		files, err := n.readVolume(ctx, p, v)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(n.folder, "pods", p.Namespace+"_"+p.Name, v.Name)
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return nil, err
		}
		for name, data := range files {
			if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
				return nil, err
			}
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
				return nil, err
			}
		}
		if err := os.Chmod(dir, 0o777); err != nil { // of emptyDir, whoever the container runs as
			return nil, err
		}
		all[v.Name] = dir
	}
	return all, nil
}

func (n *node) readVolume(ctx context.Context, p *corev1.Pod, v corev1.Volume) (map[string][]byte, error) {
	switch {
	case v.EmptyDir != nil:
		return nil, nil
	case v.Secret != nil:
		return n.readSecret(ctx, p.Namespace, v.Secret.SecretName, v.Secret.Items)
	case v.ConfigMap != nil:
		return n.readConfigMap(ctx, p.Namespace, v.ConfigMap.Name, v.ConfigMap.Items)
	case v.Projected != nil:
		files := map[string][]byte{}
		for _, source := range v.Projected.Sources {
			part, err := n.readProjection(ctx, p, source)
			if err != nil {
				return nil, err
			}
			maps.Copy(files, part)
		}
		return files, nil
	default:
		return nil, fmt.Errorf("volume %s: the stand-in knows none of its kind", v.Name)
	}
}

func (n *node) readProjection(ctx context.Context, p *corev1.Pod, source corev1.VolumeProjection) (map[string][]byte, error) {
	switch {
	case source.ServiceAccountToken != nil:
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			BoundObjectRef: &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: p.Name, UID: p.UID},
		}}
		if audience := source.ServiceAccountToken.Audience; audience != "" {
			request.Spec.Audiences = []string{audience}
		}
		made, err := n.client.CoreV1().ServiceAccounts(p.Namespace).CreateToken(ctx, p.Spec.ServiceAccountName, request, metav1.CreateOptions{})
		if err != nil {
			return nil, err
		}
		return map[string][]byte{source.ServiceAccountToken.Path: []byte(made.Status.Token)}, nil
	case source.Secret != nil:
		return n.readSecret(ctx, p.Namespace, source.Secret.Name, source.Secret.Items)
	case source.ConfigMap != nil:
		return n.readConfigMap(ctx, p.Namespace, source.ConfigMap.Name, source.ConfigMap.Items)
	default: // the downward API, of which no container here reads anything
		return nil, nil
	}
}

func (n *node) readSecret(ctx context.Context, namespace, name string, items []corev1.KeyToPath) (map[string][]byte, error) {
	o, err := n.client.CoreV1().Secrets(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return choose(o.Data, items), nil
}

func (n *node) readConfigMap(ctx context.Context, namespace, name string, items []corev1.KeyToPath) (map[string][]byte, error) {
	o, err := n.client.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	data := map[string][]byte{}
	for key, text := range o.Data {
		data[key] = []byte(text)
	}
	return choose(data, items), nil
}

// choose gives the items of a volume; all without any.
func choose(data map[string][]byte, items []corev1.KeyToPath) map[string][]byte {
	if len(items) == 0 {
		return data
	}
	chosen := map[string][]byte{}
	for _, i := range items {
		chosen[i.Path] = data[i.Key]
	}
	return chosen
}

// report writes a Pod's status, and follows its readiness.
func (n *node) report(ctx context.Context, p *corev1.Pod, address string) {
	last := ""
	for ctx.Err() == nil {
		ready := n.isReady(p, address)
		if state := fmt.Sprint(ready); state != last {
			if err := n.writeStatus(ctx, p, address, ready); err == nil {
				last = state
			}
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// isReady asks the containers' readiness probes.
func (n *node) isReady(p *corev1.Pod, address string) bool {
	for _, c := range p.Spec.Containers {
		if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet == nil {
			continue
		}
		get := c.ReadinessProbe.HTTPGet
		port := get.Port.String()
		for _, named := range c.Ports {
			if named.Name == port {
				port = fmt.Sprint(named.ContainerPort)
			}
		}
		client := http.Client{Timeout: time.Second}
		response, err := client.Get("http://" + net.JoinHostPort(address, port) + get.Path)
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		if response.StatusCode >= http.StatusBadRequest {
			return false
		}
	}
	return true
}

func (n *node) writeStatus(ctx context.Context, p *corev1.Pod, address string, ready bool) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		o, err := n.client.CoreV1().Pods(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		now, is := metav1.Now(), corev1.ConditionFalse
		if ready {
			is = corev1.ConditionTrue
		}
		o.Status.Phase, o.Status.StartTime = corev1.PodRunning, &now
		o.Status.PodIP, o.Status.PodIPs = address, []corev1.PodIP{{IP: address}}
		o.Status.HostIP, o.Status.HostIPs = nodeAddress, []corev1.HostIP{{IP: nodeAddress}}
		o.Status.Conditions = nil
		for kind, status := range map[corev1.PodConditionType]corev1.ConditionStatus{
			corev1.PodInitialized: corev1.ConditionTrue, corev1.PodScheduled: corev1.ConditionTrue, corev1.ContainersReady: is, corev1.PodReady: is,
		} {
			o.Status.Conditions = append(o.Status.Conditions, corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: now})
		}
		_, err = n.client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, o, metav1.UpdateOptions{})
		return err
	})
}

// end ends a Pod as kubelet does: it is asked to, then killed, then gone.
func (n *node) end(ctx context.Context, p *corev1.Pod, running *pod) {
	signal := func(s syscall.Signal) {
		n.lock.Lock()
		defer n.lock.Unlock()
		for _, c := range running.commands {
			_ = c.Process.Signal(s)
		}
	}
	grace := 30 * time.Second
	if p.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*p.DeletionGracePeriodSeconds) * time.Second
	}
	n.runPreStop(p, running, grace)
	signal(syscall.SIGTERM)
	select {
	case <-running.ended:
	case <-time.After(grace):
		signal(syscall.SIGKILL)
		if running.pause != nil {
			_ = running.pause.Process.Kill()
		}
	}
	now := int64(0)
	_ = n.client.CoreV1().Pods(p.Namespace).Delete(ctx, p.Name, metav1.DeleteOptions{GracePeriodSeconds: &now})
}

// runPreStop runs what containers do before they are asked to end.
func (n *node) runPreStop(p *corev1.Pod, running *pod, grace time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for _, c := range p.Spec.Containers {
		if c.Lifecycle == nil || c.Lifecycle.PreStop == nil || c.Lifecycle.PreStop.Exec == nil {
			continue
		}
		n.lock.Lock()
		command := running.commands[c.Name]
		n.lock.Unlock()
		if command == nil {
			continue
		}
		words := append([]string{fmt.Sprintf("--target=%d", command.Process.Pid), "--mount", "--net", "--root", "--wd", "--"}, c.Lifecycle.PreStop.Exec.Command...)
		if text, err := exec.CommandContext(ctx, "nsenter", words...).CombinedOutput(); err != nil {
			fmt.Printf("node: %s %s: preStop: %v %s\n", p.Name, c.Name, err, text)
		}
	}
}

// hostsFile is /etc/hosts of all containers: Services' names. Nothing else resolves.
func (n *node) hostsFile() string { return filepath.Join(n.folder, "hosts") }

// lookAtServices makes each Service's address lead to its ready endpoints.
func (n *node) lookAtServices(ctx context.Context) error {
	services, err := n.client.CoreV1().Services("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	slicesOf, err := n.client.DiscoveryV1().EndpointSlices("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	for _, s := range services.Items {
		if s.Spec.ClusterIP == "" || s.Spec.ClusterIP == corev1.ClusterIPNone || s.Name == "kubernetes" {
			continue
		}
		if err := n.name(s.Namespace+"/"+s.Name, s.Spec.ClusterIP); err != nil {
			return err
		}
		for _, port := range s.Spec.Ports {
			var to []string
			for _, slice := range slicesOf.Items {
				if slice.Namespace != s.Namespace || slice.Labels["kubernetes.io/service-name"] != s.Name {
					continue
				}
				for _, p := range slice.Ports {
					if p.Name == nil || *p.Name != port.Name || p.Port == nil {
						continue
					}
					for _, e := range slice.Endpoints {
						if e.Conditions.Ready != nil && *e.Conditions.Ready {
							to = append(to, net.JoinHostPort(e.Addresses[0], fmt.Sprint(*p.Port)))
						}
					}
				}
			}
			if err := n.forward(net.JoinHostPort(s.Spec.ClusterIP, fmt.Sprint(port.Port)), to); err != nil {
				return err
			}
		}
	}
	return nil
}

// name has a Service's names lead to its address, which is one of this machine from then on.
func (n *node) name(service, address string) error {
	if n.hosts[service] == address {
		return nil
	}
	if err := ip("address", "replace", address+"/32", "dev", "lo"); err != nil {
		return err
	}
	n.hosts[service] = address
	text := "127.0.0.1 localhost\n"
	for key, at := range n.hosts {
		namespace, name, _ := strings.Cut(key, "/")
		text += fmt.Sprintf("%s %s.%s %[2]s.%[3]s.svc %[2]s.%[3]s.svc.cluster.local\n", at, name, namespace)
	}
	return os.WriteFile(n.hostsFile(), []byte(text), 0o644) // the same file: containers have it mounted
}

// forward has an address lead to others.
func (n *node) forward(from string, to []string) error {
	f := n.forwarded[from]
	if f == nil {
		at, err := net.Listen("tcp", from)
		if err != nil {
			return err
		}
		f = &forward{}
		n.forwarded[from] = f
		go f.serve(at)
	}
	f.lock.Lock()
	f.to = to
	f.lock.Unlock()
	return nil
}

func (f *forward) serve(at net.Listener) {
	for {
		client, err := at.Accept()
		if err != nil {
			return
		}
		f.lock.Lock()
		to := slices.Clone(f.to)
		f.next++
		next := f.next
		f.lock.Unlock()
		if len(to) == 0 {
			_ = client.Close()
			continue
		}
		go join(client, to[next%len(to)])
	}
}

// join copies both ways until both have ended.
func join(client net.Conn, address string) {
	defer client.Close()
	server, err := net.DialTimeout("tcp", address, 2*time.Second)
	if err != nil {
		return
	}
	defer server.Close()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
	_ = client.(*net.TCPConn).CloseWrite()
	<-ended
}
