package kubernetes

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/proxies"
)

// Proxies keeps the objects that run the proxies of Gateways, by server-side apply. Of several processes one may run at
// a time.
type Proxies struct {
	Source *Source
	// Settings are those of all proxies, as they are now.
	Settings func() (proxies.Settings, error)
	// Ports returns the ports of a Gateway's listeners as they are served, and whether these are known yet.
	Ports func(gateway string) (ports []proxies.Port, known bool)
	// Allowed are the keys of Gateways' labels and annotations that their objects get.
	Allowed proxies.AllowedKeys
	// Controller is whose classes' Gateways get proxies.
	Controller string
	Log        *slog.Logger
	// Changed is called when statuses depend on something that has changed.
	Changed func()

	wake   chan struct{}
	stores map[schema.GroupVersionKind]cache.Indexer // by namespaces
	synced []cache.InformerSynced
	// accounts are the service accounts that Gateways may name.
	accounts cache.Indexer

	lock     sync.Mutex
	applied  map[types.UID]map[string]appliedObject // by owners, and kinds with names
	failures map[string]string                      // of Gateways, by their keys
	nodes    nodeAddresses
}

// appliedObject has the hashes of an object as it was applied last, and as it was seen after that.
type appliedObject struct{ wanted, seen [sha256.Size]byte }

var accountKind = schema.GroupVersionKind{Version: "v1", Kind: "ServiceAccount"}

// proxyKinds are those of the objects that run proxies, with their resources.
var proxyKinds = map[schema.GroupVersionKind]string{
	accountKind: "serviceaccounts", {Version: "v1", Kind: "Secret"}: "secrets",
	{Version: "v1", Kind: "Service"}:                                       "services",
	{Group: "apps", Version: "v1", Kind: deploymentKind}:                   "deployments",
	{Group: "apps", Version: "v1", Kind: daemonSetKind}:                    "daemonsets",
	{Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"}:          "poddisruptionbudgets",
	{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"}: "horizontalpodautoscalers",
}

const (
	deploymentKind = "Deployment"
	daemonSetKind  = "DaemonSet"
	// proxyManager is who has written them.
	proxyManager = "limpet-serve"
	// proxyRetry is how long to wait after an object could not be applied, and proxyPause between two looks at all of
	// them.
	proxyRetry = 5 * time.Second
	proxyPause = 100 * time.Millisecond
)

// NewProxies makes one that follows nothing yet.
func NewProxies(s *Source, log *slog.Logger) *Proxies {
	return &Proxies{
		Source: s, Log: log, wake: make(chan struct{}, 1), stores: map[schema.GroupVersionKind]cache.Indexer{},
		applied: map[types.UID]map[string]appliedObject{}, failures: map[string]string{},
		accounts: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil),
	}
}

// Wake says that Gateways may have changed.
func (p *Proxies) Wake() { wake(p.wake) }

// Start begins to follow the objects, and returns when it has all that exist.
func (p *Proxies) Start(ctx context.Context) error {
	p.synced = nil
	for kind := range proxyKinds {
		store, err := p.follow(ctx, kind, proxies.LabelManagedBy+"="+proxies.ManagedBy)
		if err != nil {
			return err
		}
		p.stores[kind] = store
	}
	var err error
	if p.accounts, err = p.follow(ctx, accountKind, proxies.AccountKey+"=true"); err != nil {
		return err
	}
	if !cache.WaitForCacheSync(ctx.Done(), p.synced...) {
		return context.Cause(ctx)
	}
	return nil
}

// follow begins to follow the objects of a kind with a label.
func (p *Proxies) follow(ctx context.Context, kind schema.GroupVersionKind, label string) (cache.Indexer, error) {
	informer := p.Source.newInformer(kind.GroupVersion().WithResource(proxyKinds[kind]), "", label, func(error) {})
	// Neither fails before the informer runs.
	_ = informer.SetTransform(dropFields)
	_ = informer.AddIndexers(cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	changed := func() {
		p.Wake()
		p.Changed()
	}
	registration, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	if err != nil {
		return nil, err
	}
	p.synced = append(p.synced, registration.HasSynced)
	go informer.RunWithContext(ctx)
	return informer.GetIndexer(), nil
}

// dropFields removes fields that are not used here.
func dropFields(sent any) (any, error) {
	if u, is := sent.(*unstructured.Unstructured); is {
		u.SetManagedFields(nil)
		if u.GetKind() == "Secret" { // what is in it is known by its hash
			unstructured.RemoveNestedField(u.Object, "metadata", "annotations", lastApplied)
		}
	}
	return sent, nil
}

// Run applies what is missing until ctx ends.
func (p *Proxies) Run(ctx context.Context) {
	loop(ctx, p.wake, proxyPause, proxyRetry, func() bool { return p.reconcile(ctx) })
}

// reconcile looks at all Gateways once; false if something is to be tried again.
func (p *Proxies) reconcile(ctx context.Context) (done bool) {
	settings, err := p.Settings()
	if err != nil {
		p.Log.Error("proxies are left as they are", "reason", err)
		return false
	}
	done = true
	failures := map[string]string{}
	gateways := p.listGateways()
	known := map[types.UID]bool{}
	for _, g := range gateways {
		known[g.UID] = true
		if err := p.keep(ctx, g, settings); err != nil && ctx.Err() == nil {
			failures[g.key()] = err.Error()
			done = done && errors.As(err, new(invalidParameters))
		}
	}
	p.lock.Lock()
	for key, words := range failures {
		if p.failures[key] != words {
			p.Log.Warn("a Gateway's proxies are not as they should be", "gateway", key, "reason", words)
		}
	}
	changed := !maps.Equal(p.failures, failures)
	p.failures = failures
	maps.DeleteFunc(p.applied, func(owner types.UID, _ map[string]appliedObject) bool { return !known[owner] })
	p.lock.Unlock()
	if changed {
		p.Changed()
	}
	return done
}

// keep makes a Gateway's objects the desired ones.
func (p *Proxies) keep(ctx context.Context, g *managedGateway, settings proxies.Settings) error {
	owned := p.listOwned(g)
	if !g.managed {
		return p.removeAll(ctx, owned)
	}
	ports, known := p.Ports(g.key())
	if !known {
		return nil // else a Service would lose the ports of ListenerSets for a moment; the first compilation wakes
	}
	config, err := p.findConfig(g)
	if err == nil {
		err = p.checkAccount(g)
	}
	if err != nil {
		return err
	}
	desired, err := proxies.Render(proxies.Input{
		Gateway: g.Gateway, Config: config, Ports: proxies.ListPorts(g.Gateway, ports), Settings: settings,
		Allowed: p.Allowed, Replicas: countReplicas(owned),
	})
	if err != nil {
		return invalidParameters{err}
	}
	// all before the first: a Service with an address and no proxy behind it would be worse than none
	for _, o := range desired {
		if err := p.checkOwner(ctx, g, o); err != nil {
			return err
		}
	}
	for _, o := range desired {
		delete(owned, objectName(o))
		if err := p.apply(ctx, g, o); err != nil {
			return err
		}
	}
	return p.removeAll(ctx, p.withoutBusy(owned, desired))
}

// checkAccount refuses to run a Gateway's proxies as a service account whose owner does not say that it is for proxies:
// it may have rights, and clouds give these to Pods.
func (p *Proxies) checkAccount(g *managedGateway) error {
	name := g.Annotations[proxies.AccountKey]
	if _, may, _ := p.accounts.GetByKey(g.Namespace + "/" + name); name != "" && !may {
		return invalidParameters{
			fmt.Errorf("metadata.annotations[%s]: Forbidden: ServiceAccount %s/%s has no label %s: \"true\": give it "+
				"that if the Gateway's proxies may run as it", proxies.AccountKey, g.Namespace, name, proxies.AccountKey),
		}
	}
	return nil
}

// invalidParameters says that what a Gateway's parameters say can't be done, and is not tried again before they change.
type invalidParameters struct{ error }

// objectName tells an object from others of the same owner.
func objectName(o *unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }

// ownedObjects are those of a Gateway, by kind and name.
type ownedObjects map[string]*unstructured.Unstructured

// listOwned gives the objects that run a Gateway's proxies, by kind and name: those of its namespace, for an object
// elsewhere can name any owner.
func (p *Proxies) listOwned(g *managedGateway) ownedObjects {
	all := ownedObjects{}
	for _, store := range p.stores {
		own, _ := store.ByIndex(cache.NamespaceIndex, g.Namespace) // fails only without that index
		for _, one := range own {
			if u, is := one.(*unstructured.Unstructured); is && controllerOf(u) == g.UID {
				all[objectName(u)] = u
			}
		}
	}
	return all
}

func controllerOf(o metav1.Object) types.UID {
	if of := metav1.GetControllerOfNoCopy(o); of != nil {
		return of.UID
	}
	return ""
}

// countReplicas is how many replicas a Deployment among objects has; nil for none.
func countReplicas(owned ownedObjects) *int32 {
	for _, o := range owned {
		if n, found, _ := unstructured.NestedInt64(o.Object, "spec", "replicas"); found && o.GetKind() == deploymentKind {
			replicas := int32(n) //nolint:gosec // it came as one
			return &replicas
		}
	}
	return nil
}

// withoutBusy leaves out what runs proxies as long as what takes its place runs none.
func (p *Proxies) withoutBusy(stale ownedObjects, desired []*unstructured.Unstructured) ownedObjects {
	serving := slices.ContainsFunc(desired, func(o *unstructured.Unstructured) bool {
		if o.GetKind() != deploymentKind && o.GetKind() != daemonSetKind {
			return false
		}
		live := p.find(o)
		return live != nil && countReady(live) > 0
	})
	maps.DeleteFunc(stale, func(_ string, o *unstructured.Unstructured) bool {
		return !serving && countReady(o) > 0
	})
	return stale
}

// countReady is how many proxies of a Deployment or DaemonSet are ready.
func countReady(o *unstructured.Unstructured) int64 {
	field := map[string]string{deploymentKind: "readyReplicas", daemonSetKind: "numberReady"}[o.GetKind()]
	n, _, _ := unstructured.NestedInt64(o.Object, "status", field)
	return n
}

// client gives access to objects of the same kind and namespace.
func (p *Proxies) client(o *unstructured.Unstructured) dynamic.ResourceInterface {
	kind := o.GroupVersionKind()
	return p.Source.client.Resource(kind.GroupVersion().WithResource(proxyKinds[kind])).Namespace(o.GetNamespace())
}

// find returns an object as it was seen last; nil if limpet has none of that name.
func (p *Proxies) find(o *unstructured.Unstructured) *unstructured.Unstructured {
	one, _, _ := p.stores[o.GroupVersionKind()].GetByKey(o.GetNamespace() + "/" + o.GetName())
	live, _ := one.(*unstructured.Unstructured)
	return live
}

// checkOwner returns an error if an object of the same name exists that is not the Gateway's: it is left alone.
func (p *Proxies) checkOwner(ctx context.Context, g *managedGateway, o *unstructured.Unstructured) error {
	if live := p.find(o); live != nil && controllerOf(live) == g.UID {
		return nil
	}
	there, err := p.client(o).Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return err
	case controllerOf(there) != g.UID:
		return fmt.Errorf(
			"%s %s/%s: there is one that is not this Gateway's: it stays as it is",
			o.GetKind(),
			o.GetNamespace(),
			o.GetName(),
		)
	}
	return nil
}

// apply applies an object, unless the live one is as it was applied last.
func (p *Proxies) apply(ctx context.Context, g *managedGateway, o *unstructured.Unstructured) error {
	wanted, live := hashOf(o.Object), p.find(o)
	p.lock.Lock()
	last := p.applied[g.UID][objectName(o)]
	p.lock.Unlock()
	if live != nil && last.wanted == wanted && last.seen == hashLive(live) {
		return nil
	}
	is, err := p.client(o).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: proxyManager, Force: true})
	if err != nil {
		return fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	p.lock.Lock()
	defer p.lock.Unlock()
	if p.applied[g.UID] == nil {
		p.applied[g.UID] = map[string]appliedObject{}
	}
	p.applied[g.UID][objectName(o)] = appliedObject{wanted, hashLive(is)}
	return nil
}

func hashOf(fields map[string]any) [sha256.Size]byte {
	text, _ := json.Marshal(fields) // which came as JSON, or is applied as such
	return sha256.Sum256(text)
}

// hashLive is the hash of a live object without its status and versions: it changes when others change what limpet
// sets.
func hashLive(o *unstructured.Unstructured) [sha256.Size]byte {
	fields := maps.Clone(o.Object)
	delete(fields, "status")
	metadata := maps.Clone(o.Object["metadata"].(map[string]any))
	for _, name := range []string{"resourceVersion", "managedFields", "generation"} {
		delete(metadata, name)
	}
	fields["metadata"] = metadata
	return hashOf(fields)
}

// removeAll deletes objects, with all that they own.
func (p *Proxies) removeAll(ctx context.Context, objects ownedObjects) (failed error) {
	background := metav1.DeletePropagationBackground
	for _, o := range objects {
		uid := o.GetUID()
		err := p.client(o).Delete(ctx, o.GetName(), metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{UID: &uid}, PropagationPolicy: &background,
		})
		if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			failed = errors.Join(failed, fmt.Errorf("%s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err))
		}
	}
	return failed
}

// findConfig merges the ProxyConfigs of a Gateway and its class.
func (p *Proxies) findConfig(g *managedGateway) (*v1alpha1.ProxyConfigSpec, error) {
	var own, class *v1alpha1.ProxyConfigSpec
	if of := g.Spec.Infrastructure; of != nil && of.ParametersRef != nil {
		found, err := p.findProxyConfig(g.Namespace, of.ParametersRef.Name)
		if err != nil {
			return nil, err
		}
		own = found
	}
	if ref := g.class.Spec.ParametersRef; ref != nil && ref.Namespace != nil {
		found, err := p.findProxyConfig(string(*ref.Namespace), ref.Name)
		if err != nil {
			return nil, fmt.Errorf("GatewayClass %s: spec.parametersRef: %w", g.class.Name, err)
		}
		class = found
	}
	return proxies.Merge(class, own)
}

func (p *Proxies) findProxyConfig(namespace, name string) (*v1alpha1.ProxyConfigSpec, error) {
	o, _, err := p.Source.find(proxyConfigKind, namespace, name)
	if err != nil {
		return nil, invalidParameters{fmt.Errorf("there is no ProxyConfig %s/%s", namespace, name)}
	}
	config := &v1alpha1.ProxyConfig{}
	if err := json.Unmarshal(o.text, config); err != nil {
		return nil, invalidParameters{fmt.Errorf("ProxyConfig %s/%s: %w", namespace, name, err)}
	}
	return &config.Spec, nil
}

var (
	proxyConfigKind = schema.GroupKind{Group: v1alpha1.Group, Kind: "ProxyConfig"}
	classKind       = schema.GroupKind{Group: gatewayKind.Group, Kind: "GatewayClass"}
)

// listKind lists the objects of a kind that are followed.
func (s *Source) listKind(kind schema.GroupKind) (all []*object) {
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if strings.HasPrefix(name, kind.Kind+"/") {
			all = append(all, s.objects[name])
		}
	}
	return all
}
