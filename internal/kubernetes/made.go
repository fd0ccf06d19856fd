package kubernetes

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/keyfile"
	"github.com/limpet-proxy/limpet/internal/proxies"
	"github.com/limpet-proxy/limpet/token"
)

// ourLabels are the labels of objects that limpet makes in its namespace. It only reads Secrets without them.
func ourLabels() map[string]string { return map[string]string{proxies.LabelManagedBy: madeByLimpet} }

const madeByLimpet = "limpet"

// getOrMake returns a Secret, which it makes and logs if there is none. Several processes may call it at once: all get
// the same Secret.
func getOrMake(
	ctx context.Context, secrets Secrets, name, what string, log *slog.Logger,
	contents func() (map[string][]byte, error),
) (*corev1.Secret, error) {
	have, err := secrets.Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return have, err
	}
	data, err := contents()
	if err != nil {
		return nil, err
	}
	made, err := secrets.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: ourLabels()}, Type: "limpet.dev/keys", Data: data,
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return secrets.Get(ctx, name, metav1.GetOptions{})
	}
	if err == nil {
		log.Info(what+" is made", "secret", made.Namespace+"/"+name)
	}
	return made, err
}

// RootName is the name under which a Secret has root secrets.
const RootName = "root.txt"

// Roots reads the root secrets for Envoys from a Secret, which it makes if there is none.
func Roots(
	ctx context.Context,
	secrets Secrets,
	name, target string,
	log *slog.Logger,
) ([]token.Root, error) {
	secret, err := getOrMake(ctx, secrets, name, "a Secret", log, func() (map[string][]byte, error) {
		return map[string][]byte{RootName: []byte(keyfile.RootsText([]token.Root{keyfile.NewRoot(target)}))}, nil
	})
	if err != nil {
		return nil, fmt.Errorf("the root secret in Secret %s: %w", name, err)
	}
	text, has := secret.Data[RootName]
	if !has {
		return nil, fmt.Errorf(
			"the Secret %s: data: Required value: it has no %s; 'limpet keygen --root' makes one",
			name,
			RootName,
		)
	}
	return keyfile.ParseRoots("Secret "+name, string(text))
}
