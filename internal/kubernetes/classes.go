package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// Classes keeps GatewayClasses that Gateways name: deleting one would cut all of their listeners. Such a class has
// Gateway API's finalizer (GatewayClassFinalizerGatewaysExist), and goes with its last Gateway. Of several processes
// one may run at a time.
type Classes struct {
	Source     *Source
	Controller string
	Log        *slog.Logger
	Events     *Events // may be nil

	wake     chan struct{}
	reported map[types.UID]string // which Gateways a class that is being deleted was said to wait for
}

// ClassResource are GatewayClasses.
var ClassResource = schema.GroupVersionResource{Group: gatewayv1.GroupName, Version: "v1", Resource: "gatewayclasses"}

// classRetry is how long to wait after a class could not be changed.
const classRetry = 5 * time.Second

// maxNamed is how many Gateways an event names.
const maxNamed = 10

// NewClasses makes one.
func NewClasses(s *Source, controller string, log *slog.Logger) *Classes {
	c := &Classes{
		Source:     s,
		Controller: controller,
		Log:        log,
		wake:       make(chan struct{}, 1),
		reported:   map[types.UID]string{},
	}
	s.addHook(func() { wake(c.wake) }, classKind, gatewayKind)
	return c
}

// Run keeps them until ctx ends.
func (c *Classes) Run(ctx context.Context) {
	loop(ctx, c.wake, statusPause, classRetry, func() bool {
		stale, err := c.keep(ctx)
		if err != nil && ctx.Err() == nil {
			c.Log.Warn("a GatewayClass can't be kept from being deleted, or let go, and is tried again", "reason", err)
		}
		return err == nil && !stale
	})
}

// keep adds the finalizer to the classes that need it, and removes it from the others. It tells whether one of these
// was stale: what has changed of it may wake nobody.
func (c *Classes) keep(ctx context.Context) (stale bool, failed error) {
	named := c.listNamed()
	for _, class := range c.Source.listClasses(c.Controller) {
		gateways := named[class.Name]
		wanted := len(gateways) > 0 && class.Annotations[v1alpha1.AnnotationUnprotected] != "true"
		has := slices.Contains(class.Finalizers, gatewayv1.GatewayClassFinalizerGatewaysExist)
		deleted := class.DeletionTimestamp != nil
		switch {
		case wanted && !has && !deleted, !wanted && has:
			err := setFinalizer(ctx, c.Source.client, class, wanted)
			if isStale(err) {
				stale, err = true, nil
			}
			failed = errors.Join(failed, err)
		case deleted && has:
			c.tell(class, gateways)
		}
	}
	return stale, failed
}

// listClasses gives the classes of a controller, by their names.
func (s *Source) listClasses(controller string) map[string]*gatewayv1.GatewayClass {
	classes := map[string]*gatewayv1.GatewayClass{}
	for _, o := range s.listKind(classKind) {
		c := &gatewayv1.GatewayClass{}
		if json.Unmarshal(o.text, c) == nil && string(c.Spec.ControllerName) == controller {
			c.ResourceVersion = o.ResourceVersion
			classes[c.Name] = c
		}
	}
	return classes
}

// listNamed gives the Gateways that name each class.
func (c *Classes) listNamed() map[string][]string {
	named := map[string][]string{}
	for _, o := range c.Source.listKind(gatewayKind) {
		g := &gatewayv1.Gateway{}
		if json.Unmarshal(o.text, g) == nil {
			class := string(g.Spec.GatewayClassName)
			named[class] = append(named[class], g.Namespace+"/"+g.Name)
		}
	}
	for _, gateways := range named {
		slices.Sort(gateways)
	}
	return named
}

// setFinalizer adds the finalizer to a GatewayClass, or removes it, if the class is still as it was read.
func setFinalizer(ctx context.Context, client dynamic.Interface, class *gatewayv1.GatewayClass, on bool) error {
	meta := map[string]any{"resourceVersion": class.ResourceVersion, "finalizers": finalizersOf(class, on)}
	return patchClass(ctx, client, class.Name, meta)
}

// ReleaseClass lets a GatewayClass be deleted while Gateways name it, and keeps limpet serve from undoing that.
func ReleaseClass(ctx context.Context, client dynamic.Interface, class *gatewayv1.GatewayClass) error {
	return patchClass(ctx, client, class.Name, map[string]any{
		"annotations": map[string]string{v1alpha1.AnnotationUnprotected: "true"}, "finalizers": finalizersOf(class, false),
	})
}

func finalizersOf(class *gatewayv1.GatewayClass, on bool) []string {
	finalizers := slices.DeleteFunc(slices.Clone(class.Finalizers), func(f string) bool {
		return f == gatewayv1.GatewayClassFinalizerGatewaysExist
	})
	if on {
		finalizers = append(finalizers, gatewayv1.GatewayClassFinalizerGatewaysExist)
	}
	return finalizers
}

func patchClass(ctx context.Context, client dynamic.Interface, name string, meta map[string]any) error {
	patch, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return err
	}
	_, err = client.Resource(ClassResource).
		Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: "limpet"})
	return err
}

// isStale tells whether an error is that of an object that has changed or gone meanwhile.
func isStale(err error) bool { return apierrors.IsConflict(err) || apierrors.IsNotFound(err) }

// nameFirst names so many at most, and says how many more there are.
func nameFirst(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// tell says once which Gateways a class waits for that is being deleted.
func (c *Classes) tell(class *gatewayv1.GatewayClass, gateways []string) {
	names := nameFirst(gateways, maxNamed)
	if c.reported[class.UID] == names {
		return
	}
	c.reported[class.UID] = names
	c.Log.Warn("a GatewayClass is being deleted, and is served until its last Gateway is gone or has another class",
		"class", class.Name, "gateways", names)
	if c.Events == nil || !c.Events.allow("") {
		return
	}
	c.Events.recorder.Eventf(&corev1.ObjectReference{
		APIVersion: gatewayv1.GroupVersion.String(), Kind: classKind.Kind, Name: class.Name, UID: class.UID,
	}, corev1.EventTypeWarning, "GatewaysExist",
		"it is deleted once these Gateways are gone or have another class: %s", names)
}
