package resource

import (
	"encoding/json"
	"slices"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/compiler/support"
)

// Kind is what limpet knows of one kind of object. All lists of kinds are made from the registry.
type Kind struct {
	schema.GroupKind // as documents write it
	Traits

	versions []string // of the group, all of one shape
	// fields are the supported ones; nil if fields that limpet does not read are the control plane's.
	fields func() support.Fields
	// sessionPath says where the kind has a sessionPersistence, as a pattern of fields; empty for nowhere.
	sessionPath string
	// localFaults says that what is not supported concerns a part of an object, and is in its Faults; else the object is
	// left out.
	localFaults bool
	// ownProxy says that the kind is read where limpet configures the proxy, and is a control plane's affair elsewhere.
	ownProxy bool
	// nameRule checks the name of a built-in kind; nil for one with a CRD, which package admission knows.
	nameRule apivalidation.ValidateNameFunc
	store    func(*admitter, *read.Document)
	// anotherPlane says that the kind is that of another control plane than those that limpet writes for: where one of
	// these serves the objects, nothing is looked at in it.
	anotherPlane bool
	// prepare looks at a document before it is checked; nil for nothing to do.
	prepare func(*admitter, *read.Document)
	// list is where the kind's objects are; nil if they are in the list of another kind, or nowhere.
	list objectList
	// converted says that objects are put into other lists, too, and in has all those where objects of the kind may be.
	converted bool
	in        listSet
}

// Traits are what others than admission want to know of a kind.
type Traits struct {
	ClusterScoped bool
	// HasStatus says that limpet writes the objects' statuses, Describable that limpet describe takes them, and Attachable
	// that session policies can target them.
	HasStatus, Describable, Attachable bool
}

// definition is what a kind is made of whose objects are of the Go type T.
type definition[T any] struct {
	Traits
	group, kind string
	// as is what the kind is called here, if two groups have kinds of one name.
	as          string
	versions    []string
	fields      func() support.Fields
	sessionPath string
	localFaults bool
	ownProxy    bool
	// anotherPlane is as in Kind.
	anotherPlane bool
	nameRule     apivalidation.ValidateNameFunc
	// loose says that T has only the fields that limpet reads, and that unknown ones have been judged elsewhere.
	loose bool
	// validate applies an API server's rules where there is no CRD to do so, and checkUnverified those that the
	// compiler relies on where documents are only said to be admitted.
	validate, checkUnverified func(*T) field.ErrorList
	// findFaults finds what limpet does not support though its fields are, for a kind with local faults.
	findFaults func(*Object[T]) []Fault
	// convert is for a foreign kind of route: it adds what others work with.
	convert func(*Object[T], *Objects)
	// list is where the objects go; nil if convert puts all of them elsewhere, or if nothing is read of them.
	list func(*Objects) *[]*Object[T]
	// sections are the names of what else a targetRef's sectionName can lead to.
	sections func(*T) []string
	// prepare looks at a document before it is checked; nil for nothing to do.
	prepare func(*admitter, *read.Document)
}

// newKind makes a kind of its definition.
func newKind[T any](d definition[T]) *Kind {
	k := &Kind{
		GroupKind: schema.GroupKind{Group: d.group, Kind: d.kind}, Traits: d.Traits,
		versions: d.versions, fields: d.fields, sessionPath: d.sessionPath, localFaults: d.localFaults, ownProxy: d.ownProxy,
		nameRule: d.nameRule, store: d.storeDocument, prepare: d.prepare, anotherPlane: d.anotherPlane,
		converted: d.convert != nil,
	}
	if d.list != nil {
		k.list = listOf[T]{of: d.list, sections: d.sections}
	}
	return k
}

// listedIn has the objects in a list of another Go type, into which they are converted.
func (k *Kind) listedIn(list objectList) *Kind {
	k.list = list
	return k
}

// storeDocument decodes a document into its Go type and stores it.
func (d definition[T]) storeDocument(a *admitter, doc *read.Document) {
	value := new(T)
	if !d.decode(a, doc, value) {
		return
	}
	if d.validate != nil && (!d.anotherPlane || !a.options.ExternalControlPlane) {
		a.rep.Error(report.InvalidField, doc, d.validate(value)...)
	}
	meta := any(value).(metav1.ObjectMetaAccessor).GetObjectMeta().(*metav1.ObjectMeta)
	if a.options.AssumeAdmitted && d.validate == nil && !d.loose {
		a.rep.Error(report.InvalidField, doc, checkNames(meta)...)
		if d.checkUnverified != nil {
			a.rep.Error(report.InvalidField, doc, d.checkUnverified(value)...)
		}
	}
	kind := d.as
	if kind == "" {
		kind = doc.StringAt("kind")
	}
	o := &Object[T]{
		Document: doc, Kind: kind, Namespace: meta.Namespace, Name: meta.Name,
		Created: meta.CreationTimestamp.Time, Labels: meta.Labels, Value: value, Sessions: a.sessions, Faults: a.faults,
	}
	if d.findFaults != nil && !a.options.ExternalControlPlane {
		o.Faults = append(o.Faults, d.findFaults(o)...)
	}
	if d.list != nil {
		into := d.list(&a.objects)
		*into = append(*into, o)
	}
	if d.convert != nil {
		d.convert(o, &a.objects)
	}
}

// decode fills in the Go type, strictly unless the definition is loose.
func (d definition[T]) decode(a *admitter, doc *read.Document, value *T) bool {
	if !d.loose {
		return a.decode(doc, doc.Fields, value)
	}
	text, err := json.Marshal(doc.Fields)
	if err == nil {
		err = json.Unmarshal(text, value)
	}
	if err != nil {
		path, message := describeTypeError(err)
		a.rep.ErrorAt(report.InvalidField, doc, path, message)
	}
	return err == nil
}

// objectList is one kind's list in any Objects.
type objectList interface {
	addAll(to, from *Objects)
	count(o *Objects) int
	isEqual(a, b *Objects) bool
	sortIn(o *Objects)
	// compare adds the objects that are in one of two parts of the input alone to gone and to came.
	compare(before, after, gone, came *Objects)
	visit(o *Objects, visit func(Entry))
}

// Entry is an object as one among those of all kinds.
type Entry struct {
	Subject report.Subject
	Ref     object.Ref
	// Sections are the names that a targetRef's sectionName can have there.
	Sections []string
}

// listOf is the list of a kind whose objects are of the Go type T.
type listOf[T any] struct {
	of       func(*Objects) *[]*Object[T]
	sections func(*T) []string
}

func (l listOf[T]) addAll(to, from *Objects) {
	if more := *l.of(from); len(more) > 0 {
		into := l.of(to)
		*into = append(*into, more...)
	}
}

func (l listOf[T]) count(o *Objects) int { return len(*l.of(o)) }

func (l listOf[T]) isEqual(a, b *Objects) bool { return slices.Equal(*l.of(a), *l.of(b)) }

func (l listOf[T]) sortIn(o *Objects) { slices.SortFunc(*l.of(o), ByAge) }

func (l listOf[T]) compare(before, after, gone, came *Objects) {
	stay := map[*Object[T]]bool{}
	for _, one := range *l.of(after) {
		stay[one] = true
	}
	for _, one := range *l.of(before) {
		if !stay[one] {
			into := l.of(gone)
			*into = append(*into, one)
		}
		delete(stay, one)
	}
	for _, one := range *l.of(after) {
		if stay[one] {
			into := l.of(came)
			*into = append(*into, one)
		}
	}
}

func (l listOf[T]) visit(o *Objects, visit func(Entry)) {
	for _, one := range *l.of(o) {
		if one.Kind != object.APIKind(one.Kind).Kind {
			continue // of another API that has a kind of the name
		}
		e := Entry{Subject: one, Ref: one.Ref()}
		if l.sections != nil {
			e.Sections = l.sections(one.Value)
		}
		visit(e)
	}
}
