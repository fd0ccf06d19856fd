package kubernetes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// servedKind is where an API server has the objects of a kind.
type servedKind struct {
	schema.GroupVersionResource
	namespaced bool
}

// listServed gives the resources that an API server has of the groups that the compiler reads, by their kinds. A group
// whose own server does not answer is left out; that of the core is the API server's.
func listServed(ctx context.Context, config *rest.Config) (map[schema.GroupVersionKind]servedKind, error) {
	client, err := newClient(config, corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	groups := metav1.APIGroupList{}
	if err := getPage(ctx, client, "/apis", &groups); err != nil {
		return nil, err
	}
	var (
		asking sync.WaitGroup
		lock   sync.Mutex // of what follows
		served = map[schema.GroupVersionKind]servedKind{}
		failed error
	)
	for _, group := range listRead(groups.Groups) {
		asking.Go(func() {
			list := metav1.APIResourceList{}
			err := getPage(ctx, client, rootOf(group)+"/"+group.String(), &list)
			lock.Lock()
			defer lock.Unlock()
			isAway := group.Group != "" && (apierrors.IsNotFound(err) || apierrors.IsServiceUnavailable(err))
			if err != nil && !isAway {
				failed = err // one will do
			}
			for _, r := range list.APIResources {
				if !strings.Contains(r.Name, "/") { // or else a part of an object
					served[group.WithKind(r.Kind)] = servedKind{group.WithResource(r.Name), r.Namespaced}
				}
			}
		})
	}
	asking.Wait()
	return served, failed
}

// listRead lists the groups, with their versions, that the compiler reads and an API server has.
func listRead(has []metav1.APIGroup) (all []schema.GroupVersion) {
	names := []string{corev1.SchemeGroupVersion.String()} // which is not among them
	for _, group := range has {
		for _, version := range group.Versions {
			names = append(names, version.GroupVersion)
		}
	}
	for _, kind := range resource.ListKinds() {
		for _, version := range kind.Versions {
			group := schema.GroupVersion{Group: kind.Group, Version: version}
			if slices.Contains(names, group.String()) && !slices.Contains(all, group) {
				all = append(all, group)
			}
		}
	}
	return all
}

// getPage reads a page that is no object.
func getPage(ctx context.Context, client *rest.RESTClient, path string, into any) error {
	text, err := client.Get().AbsPath(path).Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
