package kubernetes

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// Listing has the objects of an API server that the compiler reads, as far as the caller may see them.
type Listing struct {
	// Sources are the objects without their statuses, in the order of their names.
	Sources []compiler.Source
	// Denied are the kinds that the caller may not read, or not outside of a namespace, with the API server's words.
	Denied map[string]string
	// Proxies has the Gateways whose proxies limpet runs, by namespace/name, once Readdress has said whose.
	Proxies map[string]compiler.Proxies
	// Nodes are the machines of the cluster, as far as the caller may see them.
	Nodes *compiler.Nodes
	// shown are the addresses of Gateways' statuses, by the names of their sources.
	shown map[string][]gatewayv1.GatewayStatusAddress
}

// listPage is how many objects are asked for at a time.
const listPage = 500

// lister lists objects with the caller's rights.
type lister struct {
	client    dynamic.Interface
	namespace string
	objects   map[string]*object
	denied    map[string]string
}

// List reads the objects once, until ctx ends. Where the caller may not list a kind in all namespaces, List reads that
// of namespace. It reads Secrets and ConfigMaps one by one, where other objects name them, and only Secrets with
// certificates: no key ring is read.
func List(ctx context.Context, config *rest.Config, namespace string) (*Listing, error) {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	served, err := listServed(ctx, config)
	if err != nil {
		return nil, err
	}
	l := &lister{client: client, namespace: namespace, objects: map[string]*object{}, denied: map[string]string{}}
	for _, kind := range resource.ListKinds() {
		if _, data := dataKinds[kind.GroupKind]; data {
			continue
		}
		for _, version := range kind.Versions {
			if of, is := served[kind.WithVersion(version)]; is {
				if err := l.list(ctx, kind.Kind, of); err != nil {
					return nil, err
				}
				break
			}
		}
	}
	if err := l.readReferred(ctx); err != nil {
		return nil, err
	}
	nodes, err := l.listNodes(ctx, config.Host)
	if err != nil {
		return nil, err
	}
	listing := &Listing{Denied: l.denied, Nodes: nodes, shown: map[string][]gatewayv1.GatewayStatusAddress{}}
	for _, name := range slices.Sorted(maps.Keys(l.objects)) {
		if strings.HasPrefix(name, gatewayKind.Kind+"/") {
			listing.shown[name] = parseAddresses(l.objects[name].status)
		}
		listing.Sources = append(listing.Sources, compiler.Source{Name: name, Data: l.objects[name].text})
	}
	return listing, nil
}

// list lists a kind, in all namespaces or, where that is not allowed, in one.
func (l *lister) list(ctx context.Context, kind string, of servedKind) error {
	err := visitPages(ctx, l.client.Resource(of.GroupVersionResource), metav1.ListOptions{}, l.add)
	if !apierrors.IsForbidden(err) {
		return err
	}
	l.denied[kind] = err.Error()
	if !of.namespaced || l.namespace == "" {
		return nil
	}
	err = visitPages(ctx, l.client.Resource(of.GroupVersionResource).Namespace(l.namespace), metav1.ListOptions{}, l.add)
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// visitPages visits what a list has, page by page.
func visitPages(
	ctx context.Context, from dynamic.ResourceInterface, o metav1.ListOptions,
	visit func(*unstructured.Unstructured) error,
) error {
	for o.Limit = listPage; ; {
		list, err := from.List(ctx, o)
		if err != nil {
			return err
		}
		for i := range list.Items {
			if err := visit(&list.Items[i]); err != nil {
				return err
			}
		}
		if o.Continue = list.GetContinue(); o.Continue == "" {
			return nil
		}
	}
}

func (l *lister) add(u *unstructured.Unstructured) error {
	name := nameSource(u.GetKind(), u)
	reduced, err := reduce(u)
	if err != nil {
		return err
	}
	l.objects[name] = reduced.(*object)
	return nil
}

// readReferred reads the Secrets and ConfigMaps that the objects name.
func (l *lister) readReferred(ctx context.Context) error {
	named := map[string]bool{}
	for _, o := range l.objects {
		for _, name := range o.references {
			named[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		kind, namespace, only := selectReferred(name)
		err := visitPages(ctx, l.client.Resource(builtIn[kind]).Namespace(namespace), only, l.add)
		if apierrors.IsForbidden(err) {
			l.denied[kind.Kind] = err.Error()
		} else if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// listNodes lists the machines of the cluster, and the namespaces with Pods on their network. Where the caller may not
// list these, it has the API servers alone.
func (l *lister) listNodes(ctx context.Context, host string) (*compiler.Nodes, error) {
	servers := listAPIServers(parseServer(host), l.objects)
	var found [2][]any
	for i, of := range hostLists {
		err := visitPages(ctx, l.client.Resource(of.resource), metav1.ListOptions{FieldSelector: of.fields},
			func(u *unstructured.Unstructured) error {
				reduced, err := reduceHost(u)
				found[i] = append(found[i], reduced)
				return err
			})
		if isUnseen(err) {
			l.denied["Node"] = err.Error()
			return newNodes(servers, nil, nil), nil
		}
		if err != nil {
			return nil, err
		}
	}
	return newNodes(servers, found[0], found[1]), nil
}
