package kubernetes

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
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
	p := &Proxies{
		Source: s, Log: log, wake: make(chan struct{}, 1), stores: map[schema.GroupVersionKind]cache.Indexer{},
		applied: map[types.UID]map[string]appliedObject{}, failures: map[string]string{},
		accounts: cache.NewIndexer(cache.MetaNamespaceKeyFunc, nil),
	}
	s.addHook(p.Wake, proxyConfigKind, classKind, gatewayKind)
	return p
}

// Wake has all Gateways looked at again.
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

var (
	proxyConfigKind = schema.GroupKind{Group: v1alpha1.Group, Kind: "ProxyConfig"}
	classKind       = schema.GroupKind{Group: gatewayKind.Group, Kind: "GatewayClass"}
)
