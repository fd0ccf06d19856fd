package resource

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api"
	"github.com/limpet-proxy/limpet/internal/compiler/admission"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// Options is what admission needs to know besides the documents.
type Options struct {
	// Release is the one that the user names, Unstated for none: documents that show none are judged by its CRDs.
	Release sessionapi.APIRelease
	// AssumeAdmitted leaves the CRDs out, for documents that an API server has admitted; defaults are filled in.
	AssumeAdmitted bool
	// ExternalControlPlane says that a control plane serves the objects: what limpet does not carry of the kinds that
	// every control plane knows is its affair, and not refused.
	ExternalControlPlane bool
	// PlatformKinds are the control plane's own kinds that the target reads and writes; limpet does not judge them.
	PlatformKinds []schema.GroupVersionKind
	// Istio says that the control plane is Istio: its kinds of routes are admitted.
	Istio bool
	// Namespace is that of documents without one; empty for "default".
	Namespace string
	// StrictKinds refuses documents that are passed over else.
	StrictKinds bool
}

// admitter admits documents, one after the other. The last four fields are of the document at hand.
type admitter struct {
	options   Options
	admitters map[sessionapi.APIRelease]*admission.Admitter
	objects   Objects
	sessions  map[string]*sessionapi.InlineSession
	faults    []Fault
	rep       *report.Report
}

// loadAdmitters are the admitters by release, made once: our own CRDs are parsed and their CEL rules compiled only
// then.
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
// out, and named in Objects.Refused, for references to those objects lead nowhere.
func Admit(sources []read.Source, o Options, rep *report.Report) (*Objects, error) {
	objects, _, err := textCache{}.admit(sources, o, nil, rep)
	if err != nil {
		return nil, err
	}
	return &objects.Objects, nil
}

// admittedText is what became of a text's documents.
type admittedText struct {
	selfContained bool
	documents     []*admitted
	rep           report.Report // on what is no document
}

// admitted is what became of a document.
type admitted struct {
	*read.Document
	identity
	// passedOver is the kind of a document that is none of limpet's business; empty for all others.
	passedOver string
	objects    part
	rep        report.Report
}

// identity is what no two documents share. Without a name it is no identity, which is for the schema to judge.
type identity struct {
	kind            schema.GroupKind
	namespace, name string
}

// mergeTexts merges admitted documents. Of two with one name the second is refused. All documents of a file that can't
// be read are refused: which objects it would have is not known. Some names are those of documents at places elsewhere.
// It gives the first document of each name, too.
func mergeTexts(
	all []*admittedText, texts []*read.Text, elsewhere placesByName, rep *report.Report,
) (*part, documentsByName) {
	objects, first := &part{}, make(map[identity]*read.Document, len(all))
	unreadable := findUnreadable(all, rep)
	for i, t := range all {
		rep.Add(&t.rep)
		if unreadable[texts[i].File()] {
			objects.refuseAll(t.documents, rep)
			continue
		}
		for _, d := range t.documents {
			at, there := elsewhere.findPlace(d.identity, first)
			if there {
				rep.Error(report.DuplicateObject, d, newDuplicateError(d, at))
			}
			if d.name != "" && first[d.identity] == nil {
				first[d.identity] = d.Document
			}
			if there {
				continue
			}
			objects.addAll(&d.objects)
			rep.Add(&d.rep)
			switch {
			case d.passedOver != "":
				objects.passOver(d.passedOver)
			case d.objects.isEmpty() && len(d.rep.Errors(false)) > 0:
				objects.Refused = append(objects.Refused, d.ref())
			}
		}
	}
	slices.SortFunc(objects.Refused, compareRefs)
	return objects, listNames(first)
}

// findUnreadable finds the files that can't be read.
func findUnreadable(all []*admittedText, rep *report.Report) map[string]bool {
	files := map[string]bool{}
	for _, name := range rep.Unreadable() {
		files[name] = true
	}
	for _, t := range all {
		for _, name := range t.rep.Unreadable() {
			files[name] = true
		}
	}
	return files
}

// refuseAll takes in that documents are left out, and what is wrong with themselves.
func (o *Objects) refuseAll(documents []*admitted, rep *report.Report) {
	for _, d := range documents {
		rep.AddErrors(&d.rep)
		if d.name != "" && d.passedOver == "" {
			o.Refused = append(o.Refused, d.ref())
		}
	}
}

// ref is the name of the object.
func (i identity) ref() object.Ref {
	return object.Ref{Kind: i.kind.Kind, Namespace: i.namespace, Name: i.name}
}

// newDuplicateError is the error of a document with the name of another.
func newDuplicateError(d *admitted, first place) *field.Error {
	e := field.Duplicate(field.NewPath("metadata", "name"), d.name)
	e.Detail = fmt.Sprintf("the first object of this name is at %s:%d", first.file, first.line)
	return e
}

// admitText reads a text and admits its documents.
func (a *admitter) admitText(text *read.Text) *admittedText {
	t := &admittedText{selfContained: text.IsSelfContained()}
	for _, d := range text.ParseDocuments(&t.rep) {
		one := &admitted{Document: d}
		a.rep, a.sessions, a.faults, a.objects = &one.rep, nil, nil, Objects{}
		var k *Kind
		if k, one.passedOver = a.findKind(d); k != nil {
			var named bool
			if one.identity, named = a.identify(d, k); named {
				a.admitDocument(d, k)
				one.objects.in = k.in.filled(&a.objects)
			}
		}
		one.objects.Objects = a.objects
		if w := findWritten(d); w != nil {
			w.Subject = one
			one.objects.Written = []Written{*w}
		}
		t.documents = append(t.documents, one)
		d.Release()
	}
	return t
}

func (a *admitter) admitDocument(d *read.Document, k *Kind) {
	mark := a.rep.Mark()
	d.Status = d.Fields["status"]
	delete(d.Fields, "status") // what a controller says, not what the owner wants; an API server drops it too
	if a.options.ExternalControlPlane {
		if err := d.KeepJSON(); err != nil {
			a.rep.ErrorAt(report.InvalidField, d, "", err.Error())
		}
	}
	if k.prepare != nil {
		k.prepare(a, d)
	}
	var left []Fault
	if k.fields != nil && (!a.options.ExternalControlPlane || !a.isOthers(d, k)) {
		left = findUnsupported(d.StringAt("kind"), d.Fields) // before defaults, which no document writes
	}
	if k.localFaults {
		a.faults = left
	}
	if k.nameRule != nil {
		a.checkMetadata(d, k)
	} else {
		a.admitWithSessions(d, k)
	}
	if k.nameRule != nil || a.rep.Mark() == mark {
		k.store(a, d)
	}
	if !k.localFaults || a.rep.Mark() > mark {
		reportUnsupported(d, left, a.rep.Since(mark), a.rep)
	}
	if a.rep.Mark() > mark {
		a.objects = Objects{} // what an API server would not have
	}
}

// isOthers reports whether a control plane other than limpet serves a document where there is one.
func (a *admitter) isOthers(d *read.Document, k *Kind) bool {
	return k.anotherPlane || isCommon(gvkOf(d).Group) || slices.Contains(a.options.PlatformKinds, gvkOf(d))
}

// isCommon reports whether every control plane for Gateway API serves the kinds of a group.
func isCommon(group string) bool {
	return slices.Contains(
		[]string{gatewayv1.GroupName, gatewayxv1alpha1.GroupName, discoveryv1.GroupName, istioGroup, ""},
		group,
	)
}

// applyCRDs asks package admission, which also fills in the defaults of the fields.
func (a *admitter) applyCRDs(d *read.Document, fields map[string]any, apiRelease sessionapi.APIRelease) {
	if a.options.AssumeAdmitted {
		a.admitters[apiRelease].Default(fields)
		return
	}
	errs := a.admitters[apiRelease].Admit(fields)
	for _, e := range errs {
		switch {
		case admission.SaysUnchecked(e): // because of the other errors
		case admission.IsUnknownField(e) && isInWrongType(e, errs):
		case admission.IsUnknownField(e):
			beside := a.admitters[apiRelease].FieldsBeside(fields, e.Field)
			a.rep.ErrorAt(report.UnknownField, d, e.Field, e.Detail+suggestField(d, e.Field, beside))
		case e.Field == "" || e.Field == "<nil>":
			path, detail := cutPath(e.Detail)
			a.rep.ErrorAt(report.InvalidField, d, path, detail)
		default:
			explain(e, d, fields)
			a.rep.Error(report.InvalidField, d, e)
		}
	}
}

// identify fills in the namespace, as kubectl would, and gives the object's identity.
func (a *admitter) identify(d *read.Document, k *Kind) (identity, bool) {
	meta, ok := d.Fields["metadata"].(map[string]any)
	if !ok {
		a.rep.Error(report.InvalidField, d, field.Required(field.NewPath("metadata"), "every object has a name"))
		return identity{}, false
	}
	i := identity{kind: gvkOf(d).GroupKind(), name: d.StringAt("metadata", "name")}
	if k.ClusterScoped {
		return i, true
	}
	if ns, has := meta["namespace"]; !has || ns == nil || ns == "" {
		meta["namespace"] = cmp.Or(a.options.Namespace, metav1.NamespaceDefault)
	}
	i.namespace = d.StringAt("metadata", "namespace")
	return i, true
}

// checkMetadata checks a built-in kind's metadata.
func (a *admitter) checkMetadata(d *read.Document, k *Kind) {
	var o struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	if a.decode(d, map[string]any{"metadata": d.Fields["metadata"]}, &o) {
		a.rep.Error(report.InvalidField, d,
			apivalidation.ValidateObjectMeta(&o.ObjectMeta, !k.ClusterScoped, k.nameRule, field.NewPath("metadata"))...)
	}
}
