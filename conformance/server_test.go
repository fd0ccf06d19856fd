package conformance

// The "API server" of the harness: controller-runtime's fake client, with what it lacks: CRD defaults, generations,
// uid and creationTimestamp.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	apiextinternal "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiext "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	v1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/apis/v1alpha2"
	"sigs.k8s.io/gateway-api/apis/v1alpha3"
	"sigs.k8s.io/gateway-api/apis/v1beta1"
	"sigs.k8s.io/yaml"
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.Install, v1beta1.Install, v1alpha2.Install, v1alpha3.Install, apiext.AddToScheme} {
		if err := add(s); err != nil {
			panic(err)
		}
	}
	return s
}

// newXBackend is the CRD of XBackend from the first release in which it has session persistence; the suite's own has none.
const newXBackend = "../internal/compiler/admission/crds/1.7/XBackend.gateway.networking.x-k8s.io.json"

// loadCRDs gives the structural schemas of Gateway API's CRDs by kind.
func loadCRDs(dir string) map[schema.GroupVersionKind]*structural.Structural {
	all := map[schema.GroupVersionKind]*structural.Structural{}
	files, _ := filepath.Glob(filepath.Join(dir, "gateway.networking.*.yaml"))
	for _, f := range append(files, newXBackend) {
		raw, err := os.ReadFile(f)
		if err != nil {
			panic(err)
		}
		var crd apiext.CustomResourceDefinition
		if err := yaml.Unmarshal(raw, &crd); err != nil || crd.Kind != "CustomResourceDefinition" {
			continue
		}
		for _, v := range crd.Spec.Versions {
			var in apiextinternal.JSONSchemaProps
			if err := apiext.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v.Schema.OpenAPIV3Schema, &in, nil); err != nil {
				panic(err)
			}
			s, err := structural.NewStructural(&in)
			if err != nil {
				panic(err)
			}
			all[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = s
		}
	}
	if len(all) == 0 {
		panic("no CRDs in " + dir)
	}
	return all
}

type server struct {
	// writing makes one write of the several that stand for it: a status that comes between is no conflict of the suite's.
	writing sync.Mutex
	scheme  *runtime.Scheme
	crds    map[schema.GroupVersionKind]*structural.Structural
}

// fields gives an object's JSON; of typed objects too.
func fields(obj client.Object) map[string]any {
	if u, ok := obj.(*unstructured.Unstructured); ok {
		return u.DeepCopy().Object
	}
	raw, err := json.Marshal(obj)
	if err != nil {
		panic(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		panic(err)
	}
	return m
}

func (s *server) setDefaults(obj client.Object) error {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		return err
	}
	crd := s.crds[gvk]
	if crd == nil {
		return nil
	}
	m := fields(obj)
	if meta, ok := m["metadata"].(map[string]any); ok && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(m, crd)
	defaulting.Default(m, crd)
	if u, ok := obj.(*unstructured.Unstructured); ok {
		u.Object = m
		return nil
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, obj)
}

func (s *server) spec(obj client.Object) any {
	m := fields(obj)
	delete(m, "status")
	delete(m, "metadata")
	delete(m, "apiVersion")
	delete(m, "kind")
	// through JSON, so that numbers compare
	raw, _ := json.Marshal(m)
	var out any
	_ = json.Unmarshal(raw, &out)
	return out
}

func (s *server) stored(ctx context.Context, c client.Client, obj client.Object) (client.Object, error) {
	gvk, err := apiutil.GVKForObject(obj, s.scheme)
	if err != nil {
		return nil, err
	}
	old := &unstructured.Unstructured{}
	old.SetGroupVersionKind(gvk)
	return old, c.Get(ctx, client.ObjectKeyFromObject(obj), old)
}

// typed gives an unstructured object of a known kind as its Go type: the fake keeps what it gets, and lists of Go types
// cannot hold the other sort.
func (s *server) typed(obj client.Object) (client.Object, error) {
	u, ok := obj.(*unstructured.Unstructured)
	if !ok || !s.scheme.Recognizes(u.GroupVersionKind()) {
		return obj, nil
	}
	o, err := s.scheme.New(u.GroupVersionKind())
	if err != nil {
		return nil, err
	}
	raw, err := json.Marshal(u.Object)
	if err != nil {
		return nil, err
	}
	return o.(client.Object), json.Unmarshal(raw, o)
}

// back copies what became of the typed object into the caller's.
func back(from, to client.Object) {
	u, ok := to.(*unstructured.Unstructured)
	if !ok || from == to {
		return
	}
	gvk := u.GroupVersionKind()
	u.Object = fields(from)
	u.SetGroupVersionKind(gvk)
}

func (s *server) client() client.Client {
	status := []client.Object{&v1.GatewayClass{}, &v1.Gateway{}, &v1.HTTPRoute{}, &v1.GRPCRoute{}, &v1.TLSRoute{}, &v1.TCPRoute{}, &v1.UDPRoute{}, &v1.BackendTLSPolicy{}, &v1.ListenerSet{}}
	return fake.NewClientBuilder().WithScheme(s.scheme).WithStatusSubresource(status...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			if err := s.setDefaults(obj); err != nil {
				return err
			}
			if gvk, err := apiutil.GVKForObject(obj, s.scheme); err == nil && gvk.Kind == "Namespace" { // as the API server does
				labels := obj.GetLabels()
				if labels == nil {
					labels = map[string]string{}
				}
				labels["kubernetes.io/metadata.name"] = obj.GetName()
				obj.SetLabels(labels)
			}
			obj.SetGeneration(1)
			obj.SetUID(types.UID(uuid.NewUUID()))
			obj.SetCreationTimestamp(metav1.Time{Time: time.Now().Truncate(time.Second)})
			o, err := s.typed(obj)
			if err != nil {
				return err
			}
			defer back(o, obj)
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.UpdateOption) error {
			s.writing.Lock()
			defer s.writing.Unlock()
			old, err := s.stored(ctx, c, obj)
			if err != nil {
				return err
			}
			if err := s.setDefaults(obj); err != nil {
				return err
			}
			obj.SetUID(old.GetUID())
			obj.SetCreationTimestamp(old.GetCreationTimestamp())
			obj.SetGeneration(old.GetGeneration())
			if !reflect.DeepEqual(s.spec(old), s.spec(obj)) {
				obj.SetGeneration(old.GetGeneration() + 1)
			}
			o, err := s.typed(obj)
			if err != nil {
				return err
			}
			defer back(o, obj)
			return c.Update(ctx, o, opts...)
		},
		SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, obj client.Object, opts ...client.SubResourceUpdateOption) error {
			s.writing.Lock()
			defer s.writing.Unlock()
			o, err := s.typed(obj)
			if err != nil {
				return err
			}
			defer back(o, obj)
			return c.SubResource(sub).Update(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch, opts ...client.PatchOption) error {
			s.writing.Lock()
			defer s.writing.Unlock()
			old, err := s.stored(ctx, c, obj)
			if err != nil {
				return err
			}
			if err := c.Patch(ctx, obj, patch, opts...); err != nil {
				return err
			}
			if err := s.setDefaults(obj); err != nil {
				return err
			}
			if !reflect.DeepEqual(s.spec(old), s.spec(obj)) {
				obj.SetGeneration(old.GetGeneration() + 1)
				return c.Update(ctx, obj)
			}
			return nil
		},
	}).Build()
}

// list gives all objects of a kind, as the fake has them.
func list(ctx context.Context, c client.Client, gvk schema.GroupVersionKind) []unstructured.Unstructured {
	l := &unstructured.UnstructuredList{}
	l.SetGroupVersionKind(schema.GroupVersionKind{Group: gvk.Group, Version: gvk.Version, Kind: gvk.Kind + "List"})
	if err := c.List(ctx, l); err != nil {
		fmt.Println("harness: list", gvk.Kind, err)
	}
	return l.Items
}
