package kubernetes

import (
	"context"
	"fmt"
	"log/slog"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
)

// followSecret tells of each state of a Secret, and that it is gone, until ctx ends.
func followSecret(
	ctx context.Context,
	client *rest.RESTClient,
	namespace, name string,
	changed func(*corev1.Secret),
	gone func(),
) error {
	informer := cache.NewSharedIndexInformer(
		cache.NewListWatchFromClient(
			client,
			"secrets",
			namespace,
			fields.OneTermEqualSelector("metadata.name", name),
		),
		&corev1.Secret{},
		0,
		cache.Indexers{},
	)
	tell := func(sent any) {
		if secret, is := sent.(*corev1.Secret); is {
			changed(secret)
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, sent any) { tell(sent) }, DeleteFunc: func(any) { gone() },
	})
	if err == nil {
		go informer.RunWithContext(ctx)
	}
	return err
}

// FollowSecret has the data of a Secret taken, now and whenever it changes. What is not taken later is told of, and
// changes nothing.
func FollowSecret(
	ctx context.Context, config *rest.Config, namespace, name string, log *slog.Logger, take func(map[string][]byte) error,
) error {
	client, err := newClient(config, corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	called := "Secret " + namespace + "/" + name
	secret, err := secretsOf(client, namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil {
		err = take(secret.Data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", called, err)
	}
	known := secret.ResourceVersion
	return followSecret(ctx, client, namespace, name, func(secret *corev1.Secret) {
		if secret.ResourceVersion == known {
			return
		}
		known = secret.ResourceVersion
		if err := take(secret.Data); err != nil {
			log.Error("a Secret is invalid, and what it held before stays", "secret", namespace+"/"+name, "reason", err)
		}
	}, func() {
		log.Error("a Secret is gone; what it held stays until this process ends", "secret", namespace+"/"+name)
	})
}
