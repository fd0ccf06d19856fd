package conformance

// The "kubelet" and the endpoint controller of the harness: for each Deployment echo processes on loopback addresses,
// Pods for them, EndpointSlices for Services with a selector, and the pods' logs over HTTP.

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

type line struct {
	at   time.Time
	text string
}

type pod struct {
	name, ip string
	cmd      *exec.Cmd
	mu       sync.Mutex
	log      []line
}

type kubelet struct {
	echo, dir string
	network   string // what pods' addresses begin with
	mu        sync.Mutex
	pods      map[string]*pod // by namespace/pod
	ips       int
}

func newKubelet(echo, dir string) *kubelet {
	return &kubelet{echo: echo, dir: dir, network: "127.0.", ips: 2 << 8, pods: map[string]*pod{}}
}

func hash(s string) string {
	h := fnv.New32a()
	h.Write([]byte(s))
	return fmt.Sprintf("%08x", h.Sum32())
}

// readVolume gives the items of a volume, and the values of its Secret or ConfigMap.
func readVolume(ctx context.Context, c client.Client, namespace string, v corev1.Volume) ([]corev1.KeyToPath, map[string]string, error) {
	if v.ConfigMap != nil {
		var m corev1.ConfigMap
		err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v.ConfigMap.Name}, &m)
		return v.ConfigMap.Items, m.Data, err
	}
	if v.Secret == nil {
		return nil, nil, nil
	}
	var s corev1.Secret
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: v.Secret.SecretName}, &s)
	values := map[string]string{}
	for key, data := range s.Data {
		values[key] = string(data)
	}
	for key, text := range s.StringData {
		values[key] = text
	}
	return v.Secret.Items, values, err
}

// run starts a process of a Deployment unless it runs, and gives its pod. Processes outlive tests: nothing in them depends on one.
func (k *kubelet) run(ctx context.Context, c client.Client, d *appsv1.Deployment, index int) (*pod, error) {
	h := hash(d.Namespace + d.Name)
	return k.start(ctx, c, d.Namespace, fmt.Sprintf("%s-%s-%s", d.Name, h, hash(fmt.Sprint(h, index))[:5]), d.Spec.Template.Spec)
}

// start starts a pod's process unless it runs, and gives the pod.
func (k *kubelet) start(ctx context.Context, c client.Client, namespace, name string, spec corev1.PodSpec) (*pod, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := namespace + "/" + name
	if p := k.pods[key]; p != nil {
		return p, nil
	}
	files := map[string]string{}
	for _, v := range spec.Volumes {
		items, values, err := readVolume(ctx, c, namespace, v)
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(k.dir, "volumes", namespace, name, v.Name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		for _, i := range items {
			if err := os.WriteFile(filepath.Join(dir, i.Path), []byte(values[i.Key]), 0o600); err != nil {
				return nil, err
			}
		}
		for _, m := range spec.Containers[0].VolumeMounts {
			if m.Name == v.Name {
				files[m.MountPath] = dir
			}
		}
	}
	k.ips++
	p := &pod{name: name, ip: fmt.Sprintf("%s%d.%d", k.network, k.ips>>8, k.ips&255)}
	resolves := strings.Contains(spec.Containers[0].Image, "coredns")
	if !resolves && !strings.Contains(spec.Containers[0].Image, "echo-basic") {
		k.pods[key] = p // a Pod without a process
		return p, nil
	}
	env := []string{"POD_IP=" + p.ip, "POD_NAME=" + name, "NAMESPACE=" + namespace, "PATH=" + os.Getenv("PATH")}
	for _, e := range spec.Containers[0].Env {
		if e.ValueFrom != nil {
			continue // POD_NAME and NAMESPACE
		}
		value := e.Value
		for mount, dir := range files {
			value = strings.Replace(value, mount, dir, 1)
		}
		env = append(env, e.Name+"="+value)
	}
	if resolves {
		env = append(env, "DNS_SERVER=1")
	}
	p.cmd = exec.Command(k.echo)
	p.cmd.Env = append(env, "GOMAXPROCS=1")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.cmd.Stderr = p.cmd.Stdout
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		s := bufio.NewScanner(out)
		s.Buffer(nil, 1<<20)
		for s.Scan() {
			p.mu.Lock()
			p.log = append(p.log, line{time.Now(), s.Text()})
			p.mu.Unlock()
		}
	}()
	for i := 0; i < 100 && !takesDatagrams(env); i++ {
		conn, err := net.DialTimeout("tcp", p.ip+":3000", time.Second)
		if err == nil {
			conn.Close()
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	k.pods[key] = p
	return p, nil
}

// takesDatagrams says of a pod's environment that nothing listens there for connections.
func takesDatagrams(env []string) bool {
	return slices.Contains(env, "DNS_SERVER=1") || slices.Contains(env, "UDP_ECHO_SERVER=1")
}

func (k *kubelet) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		if p.cmd != nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	}
}

// end ends a pod's process, if there is one.
func (k *kubelet) end(key string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[key]; p != nil && p.cmd != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait()
	}
	delete(k.pods, key)
}

// logs serves GET /api/v1/namespaces/NS/pods/NAME/log?sinceTime=, all that the suite asks its Clientset for.
func (k *kubelet) logs() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
		if len(parts) != 7 || parts[6] != "log" {
			http.Error(w, "the harness has logs only", http.StatusNotFound)
			return
		}
		k.writeLog(w, r, parts[3]+"/"+parts[5])
	}))
}

// writeLog answers with a pod's log since a time.
func (k *kubelet) writeLog(w http.ResponseWriter, r *http.Request, key string) {
	k.mu.Lock()
	p := k.pods[key]
	k.mu.Unlock()
	if p == nil {
		http.Error(w, "no such pod", http.StatusNotFound)
		return
	}
	since, _ := time.Parse(time.RFC3339, r.URL.Query().Get("sinceTime"))
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.log {
		if !l.at.Before(since) {
			fmt.Fprintln(w, l.text)
		}
	}
}

// tick makes Pods for Deployments, and EndpointSlices for Services.
func (k *kubelet) tick(ctx context.Context, c client.Client) {
	var deployments appsv1.DeploymentList
	_ = c.List(ctx, &deployments)
	for i := range deployments.Items {
		d := &deployments.Items[i]
		n := 1
		if d.Spec.Replicas != nil {
			n = int(*d.Spec.Replicas)
		}
		for j := 0; j < n; j++ {
			p, err := k.run(ctx, c, d, j)
			if err != nil {
				fmt.Println("harness: pod of", d.Namespace, d.Name, err)
				continue
			}
			o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: p.name, Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
			o.Spec.NodeName = "node"
			o.Status = corev1.PodStatus{
				Phase: corev1.PodRunning, PodIP: p.ip, PodIPs: []corev1.PodIP{{IP: p.ip}},
				Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			}
			if err := c.Get(ctx, client.ObjectKeyFromObject(o), &corev1.Pod{}); apierrors.IsNotFound(err) {
				if err := c.Create(ctx, o); err != nil {
					fmt.Println("harness: pod", err)
				}
			}
		}
	}
	var services corev1.ServiceList
	_ = c.List(ctx, &services)
	known := map[string]bool{}
	for i := range services.Items {
		s := &services.Items[i]
		if len(s.Spec.Selector) == 0 {
			continue
		}
		known[s.Namespace+"/"+s.Name] = true
		want := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Namespace: s.Namespace, Name: s.Name + "-auto",
			Labels: map[string]string{discoveryv1.LabelServiceName: s.Name, discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"},
		}, AddressType: discoveryv1.AddressTypeIPv4}
		for _, sp := range s.Spec.Ports {
			name, proto, port := sp.Name, sp.Protocol, sp.TargetPort.IntVal
			if port == 0 {
				port = sp.Port
			}
			if proto == "" {
				proto = corev1.ProtocolTCP
			}
			want.Ports = append(want.Ports, discoveryv1.EndpointPort{Name: &name, Protocol: &proto, Port: &port, AppProtocol: sp.AppProtocol})
		}
		var pods corev1.PodList
		_ = c.List(ctx, &pods, client.InNamespace(s.Namespace), client.MatchingLabelsSelector{Selector: labels.SelectorFromSet(s.Spec.Selector)})
		yes, no := true, false
		for j := range pods.Items {
			p := &pods.Items[j]
			want.Endpoints = append(want.Endpoints, discoveryv1.Endpoint{
				Addresses:  []string{p.Status.PodIP},
				Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
				TargetRef:  &corev1.ObjectReference{Kind: "Pod", Namespace: p.Namespace, Name: p.Name, UID: p.UID},
			})
		}
		have := &discoveryv1.EndpointSlice{}
		if err := c.Get(ctx, client.ObjectKeyFromObject(want), have); apierrors.IsNotFound(err) {
			_ = c.Create(ctx, want)
		} else if fmt.Sprint(len(have.Endpoints), len(have.Ports)) != fmt.Sprint(len(want.Endpoints), len(want.Ports)) {
			want.ResourceVersion = have.ResourceVersion
			_ = c.Update(ctx, want)
		}
	}
	var slices discoveryv1.EndpointSliceList
	_ = c.List(ctx, &slices)
	for i := range slices.Items {
		e := &slices.Items[i]
		if e.Labels[discoveryv1.LabelManagedBy] != "" && !known[e.Namespace+"/"+e.Labels[discoveryv1.LabelServiceName]] {
			_ = c.Delete(ctx, e)
		}
	}
}
