package conformance

// What runs on the node: processes of the suite's backends, at addresses of their own, with their logs.

import (
	"bufio"
	"context"
	"fmt"
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

	corev1 "k8s.io/api/core/v1"
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
	mu        sync.Mutex
	pods      map[string]*pod // by namespace/pod
	ips       int
}

func newKubelet(echo, dir string) *kubelet {
	return &kubelet{echo: echo, dir: dir, pods: map[string]*pod{}}
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
	p := &pod{name: name, ip: fmt.Sprintf("%s%d.%d", podNetwork, k.ips>>8, k.ips&255)}
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
