package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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
		spec.Mounts = append(
			spec.Mounts,
			mount{From: filepath.Join(p.files[m.Name], m.SubPath), To: m.MountPath, Write: !m.ReadOnly},
		)
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
			s, err := p.node.client.CoreV1().
				Secrets(p.object.Namespace).
				Get(context.Background(), from.SecretKeyRef.Name, metav1.GetOptions{})
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
		"metadata.name": p.object.Name, "metadata.namespace": p.object.Namespace, "status.podIP": p.ip,
		"spec.nodeName": nodeName,
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
