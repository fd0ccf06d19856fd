package resource

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	kjson "sigs.k8s.io/json"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	"github.com/limpet-proxy/limpet/internal/compiler/parallel"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// kindSpec is one supported kind of object and how it is admitted.
type kindSpec struct {
	versions []string // of its group, all of one shape
	// name checks the name of a built-in kind; nil for a kind of Gateway API, which package admission knows.
	name  apivalidation.ValidateNameFunc
	store func(*admitter, *read.Document)
}

// clusterScoped are the kinds without a namespace.
var clusterScoped = map[string]bool{"GatewayClass": true}

var supportedKinds = map[schema.GroupKind]kindSpec{
	{Group: gatewayv1.GroupName, Kind: "GatewayClass"}: {
		versions: []string{"v1", "v1beta1"},
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.Classes, func(o *gatewayv1.GatewayClass) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
	{Group: gatewayv1.GroupName, Kind: "Gateway"}: {
		versions: []string{"v1", "v1beta1"},
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.Gateways, func(o *gatewayv1.Gateway) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
	{Group: gatewayv1.GroupName, Kind: "HTTPRoute"}: {
		versions: []string{"v1", "v1beta1"},
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.Routes, func(o *gatewayv1.HTTPRoute) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
	{Group: gatewayv1.GroupName, Kind: KindGRPCRoute}: {
		versions: []string{"v1"},
		store: func(a *admitter, d *read.Document) {
			var routes []*Object[gatewayv1.GRPCRoute]
			storeStrictly(a, d, &routes, func(o *gatewayv1.GRPCRoute) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
			for _, r := range routes {
				a.objects.Routes = append(a.objects.Routes, convertGRPCRoute(r))
			}
		},
	},
	{Group: gatewayv1.GroupName, Kind: "ReferenceGrant"}: {
		versions: []string{"v1", "v1beta1"},
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.Grants, func(o *gatewayv1.ReferenceGrant) *metav1.ObjectMeta { return &o.ObjectMeta }, nil)
		},
	},
	{Kind: "Secret"}: {
		versions: []string{"v1"}, name: apivalidation.NameIsDNSSubdomain,
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.Secrets, func(o *Secret) *metav1.ObjectMeta { return &o.ObjectMeta }, validateSecret)
		},
	},
	{Kind: "Service"}: {
		versions: []string{"v1"}, name: apivalidation.NameIsDNSLabel,
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.Services, func(o *corev1.Service) *metav1.ObjectMeta { return &o.ObjectMeta }, validateService)
		},
	},
	{Group: discoveryv1.GroupName, Kind: "EndpointSlice"}: {
		versions: []string{"v1"}, name: apivalidation.NameIsDNSSubdomain,
		store: func(a *admitter, d *read.Document) {
			storeStrictly(a, d, &a.objects.Slices, func(o *discoveryv1.EndpointSlice) *metav1.ObjectMeta { return &o.ObjectMeta }, validateEndpointSlice)
		},
	},
}

// Options is what admission needs to know beside the documents.
type Options struct {
	// Release is the one that the user names, Unstated for none: documents that show none are judged by its CRDs.
	Release sessionapi.APIRelease
	// AssumeAdmitted leaves the CRDs out, for documents that an API server has admitted; defaults are filled in.
	AssumeAdmitted bool
	// ExternalControlPlane says that a control plane serves the objects: what limpet does not carry of the kinds that every
	// control plane knows is its affair, and not refused.
	ExternalControlPlane bool
	// PlatformKinds are the control plane's own kinds that the target reads and writes; limpet does not judge them.
	PlatformKinds []schema.GroupVersionKind
	// Istio says that the control plane is Istio: its kinds of routes are admitted.
	Istio bool
}

// admitter admits documents, one after the other. The last three fields are of the document at hand.
type admitter struct {
	options   Options
	admitters map[sessionapi.APIRelease]*admission.Admitter
	objects   Objects
	sessions  map[string]*sessionapi.InlineSession
	rep       *report.Report
}

// loadAdmitters are the admitters by generation, made once: our own CRDs are parsed and their CEL rules compiled only then.
var loadAdmitters = sync.OnceValues(func() (map[sessionapi.APIRelease]*admission.Admitter, error) {
	all := map[sessionapi.APIRelease]*admission.Admitter{}
	for apiRelease, release := range crdReleases {
		server, err := admission.New(release, api.CRDs()...)
		if err != nil {
			return nil, err
		}
		all[apiRelease] = server
	}
	return all, nil
})

// Admit reads the sources, checks their documents and gives the objects among them. Documents with an error are left
// out; the caller must not go on once the report has one, for references to those objects would seem to lead nowhere.
// Documents that the cache knows are not read again; it may be nil.
func Admit(sources []read.Source, o Options, cache *Cache, rep *report.Report) (*Objects, error) {
	servers, err := loadAdmitters()
	if err != nil {
		return nil, err
	}
	texts := read.Split(sources, rep)
	all := make([]*admittedText, len(texts))
	for i, t := range texts {
		all[i] = &admittedText{Text: t}
	}
	cache.resetIfChanged(o)
	parallel.Each(all, func(some []*admittedText) {
		a := &admitter{options: o, admitters: servers}
		for _, t := range some {
			if !cache.recall(t) {
				a.admitText(t)
			}
		}
	})
	cache.store(all)
	read.ReportEmpty(texts, rep)
	return mergeTexts(all, cache.lastOrders(), rep), nil
}

// admittedText is a text with what became of its documents.
type admittedText struct {
	*read.Text
	documents []*admitted
	rep       report.Report // on what is no document
	hash      uint64        // for the cache
}

// admitted is what became of a document.
type admitted struct {
	*read.Document
	identity
	objects Objects
	rep     report.Report
}

// identity is what no two documents share. Without a name it is no identity, which is for the schema to judge.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

// mergeTexts brings together what became of documents. Of two with one name the second is refused.
func mergeTexts(texts []*admittedText, known sortOrders, rep *report.Report) *Objects {
	objects := &Objects{}
	first := make(map[identity]*admitted, len(texts))
	for _, t := range texts {
		rep.Add(&t.rep)
		for _, d := range t.documents {
			if of := first[d.identity]; of != nil && d.name != "" {
				rep.Error(d, newDuplicateError(d, of))
				continue
			}
			first[d.identity] = d
			objects.addAll(&d.objects)
			rep.Add(&d.rep)
		}
	}
	objects.sortAll(known)
	return objects
}

// newDuplicateError is the error of a document with the name of another.
func newDuplicateError(d, first *admitted) *field.Error {
	file, line := first.Locate("")
	e := field.Duplicate(field.NewPath("metadata", "name"), d.name)
	e.Detail = fmt.Sprintf("the first object of this name is at %s:%d", file, line)
	return e
}

// admitText reads a text and admits its documents.
func (a *admitter) admitText(t *admittedText) {
	for _, d := range t.ReadDocuments(&t.rep) {
		one := &admitted{Document: d}
		a.rep, a.sessions, a.objects = &one.rep, nil, Objects{}
		if gk, k, ok := a.findKind(d); ok {
			if one.identity, ok = a.identify(d, gk); ok {
				a.admitDocument(d, gk, k)
			}
		}
		one.objects = a.objects
		t.documents = append(t.documents, one)
		d.Release()
	}
}

func (a *admitter) admitDocument(d *read.Document, gk schema.GroupKind, k kindSpec) {
	mark := a.rep.Mark()
	d.Status = d.Fields["status"]
	delete(d.Fields, "status") // what a controller says, not what the owner wants; an API server drops it too
	if a.options.ExternalControlPlane {
		if err := d.KeepJSON(); err != nil {
			a.rep.ErrorAt(d, "", err.Error())
		}
	}
	var left []unsupportedField
	if !a.options.ExternalControlPlane || !isCommon(gk.Group) && !slices.Contains(a.options.PlatformKinds, gvkOf(d)) {
		left = findUnsupported(gk.Kind, d.Fields) // before defaults, which nobody wrote
	}
	if k.name != nil {
		a.checkMetadata(d, k)
	} else {
		a.admitWithSessions(d, gk.Kind)
	}
	if k.name != nil || a.rep.Mark() == mark {
		k.store(a, d)
	}
	reportUnsupported(d, left, a.rep.Since(mark), a.rep)
}

// isCommon reports whether every control plane for Gateway API serves the kinds of a group.
func isCommon(group string) bool {
	return slices.Contains([]string{gatewayv1.GroupName, discoveryv1.GroupName, IstioGroup, ""}, group)
}

// applyCRDs asks package admission, which also fills in the defaults.
func (a *admitter) applyCRDs(d *read.Document, apiRelease sessionapi.APIRelease) {
	if a.options.AssumeAdmitted {
		a.admitters[apiRelease].Default(d.Fields)
		return
	}
	for _, e := range a.admitters[apiRelease].Admit(d.Fields) {
		switch {
		case admission.IsUnknownField(e):
			a.rep.ErrorAt(d, e.Field, e.Detail)
		case e.Field == "" || e.Field == "<nil>":
			path, detail := cutPath(e.Detail)
			a.rep.ErrorAt(d, path, detail)
		default:
			e.Detail = strings.TrimPrefix(e.Detail, e.Field+" in body ") // the schema validator repeats it
			a.rep.Error(d, e)
		}
	}
}

// alternativesPattern is what the schema validator says of oneOf and anyOf: the path stands in the message alone.
var alternativesPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^"([^"]+)" (must validate .*)$`) })

func cutPath(detail string) (path, rest string) {
	if parts := alternativesPattern().FindStringSubmatch(detail); parts != nil {
		return parts[1], parts[2]
	}
	return "", detail
}

// findKind finds the document's kind among the supported ones.
func (a *admitter) findKind(d *read.Document) (schema.GroupKind, kindSpec, bool) {
	for _, name := range []string{"apiVersion", "kind"} {
		if d.StringAt(name) == "" {
			a.rep.Error(d, field.Required(field.NewPath(name), "every object names its type"))
			return schema.GroupKind{}, kindSpec{}, false
		}
	}
	gvk := schema.FromAPIVersionAndKind(d.StringAt("apiVersion"), d.StringAt("kind"))
	if slices.Contains(a.options.PlatformKinds, gvk) {
		return gvk.GroupKind(), platformKind, true
	}
	k, ok := supportedKinds[gvk.GroupKind()]
	if !ok || !slices.Contains(k.versions, gvk.Version) || gvk.Group == IstioGroup && !a.options.Istio {
		a.rep.ErrorAt(d, "kind", "not supported yet: "+gvk.Kind+" of "+gvk.GroupVersion().String())
		return schema.GroupKind{}, kindSpec{}, false
	}
	return gvk.GroupKind(), k, true
}

// identify fills in the namespace, as kubectl would, and gives the object's identity.
func (a *admitter) identify(d *read.Document, gk schema.GroupKind) (identity, bool) {
	meta, ok := d.Fields["metadata"].(map[string]any)
	if !ok {
		a.rep.Error(d, field.Required(field.NewPath("metadata"), "every object has a name"))
		return identity{}, false
	}
	if ns, has := meta["namespace"]; !clusterScoped[gk.Kind] && (!has || ns == nil || ns == "") {
		meta["namespace"] = metav1.NamespaceDefault
	}
	return identity{gk, d.StringAt("metadata", "namespace"), d.StringAt("metadata", "name")}, true
}

// checkMetadata checks a built-in kind's metadata.
func (a *admitter) checkMetadata(d *read.Document, k kindSpec) {
	var o struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	if a.decode(d, map[string]any{"metadata": d.Fields["metadata"]}, &o) {
		a.rep.Error(d, apivalidation.ValidateObjectMeta(&o.ObjectMeta, true, k.name, field.NewPath("metadata"))...)
	}
}

// storeStrictly decodes a document into its Go type, strictly, and stores it.
func storeStrictly[T any](a *admitter, d *read.Document, into *[]*Object[T], metaOf func(*T) *metav1.ObjectMeta,
	validate func(*T) field.ErrorList,
) {
	value := new(T)
	if !a.decode(d, d.Fields, value) {
		return
	}
	if validate != nil {
		a.rep.Error(d, validate(value)...)
	}
	meta := metaOf(value)
	if a.options.AssumeAdmitted && validate == nil {
		a.rep.Error(d, checkUnverified(value, meta)...)
	}
	*into = append(*into, &Object[T]{
		Document: d, Kind: d.StringAt("kind"), Namespace: meta.Namespace, Name: meta.Name,
		Created: meta.CreationTimestamp.Time, Labels: meta.Labels, Value: value, Sessions: a.sessions,
	})
}

// decode fills a Go type from the document's fields and reports those that the type lacks.
func (a *admitter) decode(d *read.Document, fields map[string]any, into any) bool {
	text, err := json.Marshal(fields)
	if err != nil {
		a.rep.ErrorAt(d, "", err.Error())
		return false
	}
	strays, err := kjson.UnmarshalStrict(text, into, kjson.DisallowUnknownFields)
	for _, e := range strays {
		a.rep.ErrorAt(d, fieldPath(e), "unknown field")
	}
	if err != nil {
		path, message := describeTypeError(err)
		a.rep.ErrorAt(d, path, message)
	}
	return err == nil
}

// fieldPath is the path that a strict decoding error carries.
func fieldPath(err error) string {
	var at kjson.FieldError
	if errors.As(err, &at) {
		return at.FieldPath()
	}
	return ""
}

// describeTypeError puts a decoding error into the wording of field errors.
func describeTypeError(err error) (path, message string) {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return trimGoTypes(wrong.Field), "Invalid value: must be of type " + wrong.Type.String() + ", not " + wrong.Value
	}
	return "", err.Error()
}

// trimGoTypes leaves out what stands for embedded Go types in a decoding error's path. Fields of the API begin in lower
// case.
func trimGoTypes(path string) string {
	parts := strings.Split(path, ".")
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p != "" && unicode.IsUpper(rune(p[0])) }), ".")
}
