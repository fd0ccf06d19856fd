package standin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// makeVolume writes the files of a volume into a folder, when what it is made of is there.
func (p *pod) makeVolume(v corev1.Volume) error {
	folder, err := os.MkdirTemp(p.node.folder, p.object.Name+"-"+v.Name)
	if err != nil {
		return err
	}
	p.files[v.Name] = folder
	files := map[string][]byte{}
	for ; len(p.leave) == 0; time.Sleep(50 * time.Millisecond) {
		if err = p.readVolume(v, files); err == nil || !apierrors.IsNotFound(err) {
			break
		}
	}
	if err != nil {
		return err
	}
	for name, text := range files {
		at := filepath.Join(folder, name)
		err := os.MkdirAll(filepath.Dir(at), 0o755)
		err = errors.Join(err, os.WriteFile(at, text, modeOf(v)))
		if err != nil {
			return err
		}
	}
	return p.chown(folder)
}

// modeOf is that of a volume's files.
func modeOf(v corev1.Volume) os.FileMode {
	mode := (*int32)(nil)
	switch {
	case v.Secret != nil:
		mode = v.Secret.DefaultMode
	case v.ConfigMap != nil:
		mode = v.ConfigMap.DefaultMode
	case v.Projected != nil:
		mode = v.Projected.DefaultMode
	}
	if mode == nil {
		return 0o644
	}
	return os.FileMode(*mode)
}

// chown gives files to the Pod's group, if it has one.
func (p *pod) chown(folder string) error {
	if err := os.Chmod(folder, 0o777); err != nil { //nolint:gosec // as an emptyDir
		return err
	}
	s := p.object.Spec.SecurityContext
	if s == nil || s.FSGroup == nil {
		return nil
	}
	return filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var info os.FileInfo
			if info, err = d.Info(); err == nil {
				err = os.Chmod(path, info.Mode()|0o440)
			}
		}
		return errors.Join(err, os.Chown(path, 0, int(*s.FSGroup)))
	})
}

func (p *pod) readVolume(v corev1.Volume, files map[string][]byte) error {
	switch {
	case v.EmptyDir != nil:
		return nil
	case v.Secret != nil:
		return p.readSecret(v.Secret.SecretName, v.Secret.Items, files)
	case v.ConfigMap != nil:
		return p.readConfigMap(v.ConfigMap.Name, v.ConfigMap.Items, files)
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if err := p.readProjection(s, files); err != nil {
				return err
			}
		}
		return nil
	default:
		return errors.New("of a kind that is not known here")
	}
}

func (p *pod) readSecret(name string, items []corev1.KeyToPath, files map[string][]byte) error {
	s, err := p.node.client.CoreV1().Secrets(p.object.Namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pick(s.Data, items, files)
	return nil
}

func (p *pod) readConfigMap(name string, items []corev1.KeyToPath, files map[string][]byte) error {
	c, err := p.node.client.CoreV1().ConfigMaps(p.object.Namespace).Get(context.Background(), name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	values := map[string][]byte{}
	for key, text := range c.Data {
		values[key] = []byte(text)
	}
	pick(values, items, files)
	return nil
}

// pick takes the items of an object, or all of it.
func pick(values map[string][]byte, items []corev1.KeyToPath, files map[string][]byte) {
	for _, i := range items {
		files[i.Path] = values[i.Key]
	}
	if len(items) == 0 {
		for key, value := range values {
			files[key] = value
		}
	}
}

func (p *pod) readProjection(s corev1.VolumeProjection, files map[string][]byte) error {
	switch {
	case s.Secret != nil:
		return p.readSecret(s.Secret.Name, s.Secret.Items, files)
	case s.ConfigMap != nil:
		return p.readConfigMap(s.ConfigMap.Name, s.ConfigMap.Items, files)
	case s.ServiceAccountToken != nil:
		request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: s.ServiceAccountToken.ExpirationSeconds,
			BoundObjectRef: &authenticationv1.BoundObjectReference{
				Kind:       "Pod",
				APIVersion: "v1",
				Name:       p.object.Name,
				UID:        p.object.UID,
			},
		}}
		if s.ServiceAccountToken.Audience != "" {
			request.Spec.Audiences = []string{s.ServiceAccountToken.Audience}
		}
		made, err := p.node.client.CoreV1().ServiceAccounts(p.object.Namespace).
			CreateToken(context.Background(), p.object.Spec.ServiceAccountName, request, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		files[s.ServiceAccountToken.Path] = []byte(made.Status.Token)
		return nil
	case s.DownwardAPI != nil:
		for _, i := range s.DownwardAPI.Items {
			files[i.Path] = []byte(p.field(i.FieldRef.FieldPath))
		}
		return nil
	default:
		return errors.New("a projection of a kind that is not known here")
	}
}
