package resource

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	"github.com/limpet-proxy/limpet/internal/suggest"
)

// noObject is what documents are counted under that are no objects of Kubernetes.
const noObject = "no Kubernetes object"

// writtenKinds are the kinds that limpet writes for control planes and never reads.
var writtenKinds = []string{"EnvoyFilter", "EnvoyPatchPolicy", "TrafficExtension", "WasmPlugin"}

// findWritten gives an object of a kind that limpet writes and does not read, or one that limpet has written; else nil.
func findWritten(d *read.Document) *Written {
	w := &Written{Ref: object.Ref{
		Kind: d.StringAt("kind"), Namespace: d.StringAt("metadata", "namespace"), Name: d.StringAt("metadata", "name"),
	}}
	w.Ours = isOurs(d)
	w.Owner = d.StringAt("metadata", "labels", object.OwnerLabel)
	if w.Ours || slices.Contains(writtenKinds, w.Kind) {
		return w
	}
	return nil
}

// isOurs tells whether limpet has written an object.
func isOurs(d *read.Document) bool {
	return d.StringAt("metadata", "labels", object.ManagedByLabel) == object.ManagedBy
}

// findKind finds the document's kind among those that are read. A document of another kind is passed over, under the
// name that it gives, unless it is misspelt.
func (a *admitter) findKind(d *read.Document) (k *Kind, passedOver string) {
	gvk := gvkOf(d)
	if d.StringAt("apiVersion") == "" || gvk.Kind == "" {
		return nil, a.passOverUntyped(d)
	}
	if slices.Contains(a.options.PlatformKinds, gvk) {
		return platformKind, ""
	}
	if a.options.Istio && isRouteCopy(d) {
		return nil, gvk.Kind + writtenByLimpet
	}
	k = findSupported(gvk)
	theirs := a.options.ExternalControlPlane && slices.ContainsFunc(registry, func(k *Kind) bool {
		return k.ownProxy && k.GroupKind == gvk.GroupKind()
	})
	if k != nil && !theirs && (gvk.Group != istioGroup || a.options.Istio) {
		return k, ""
	}
	if why := a.explainMisspelt(gvk); why != "" && !theirs {
		a.rep.ErrorAt(report.UnknownKind, d, "kind", why)
		return nil, ""
	}
	return nil, a.passOver(d, gvk)
}

// passOver gives the name under which a document of another kind is passed over.
func (a *admitter) passOver(d *read.Document, gvk schema.GroupVersionKind) string {
	if a.options.StrictKinds {
		a.rep.ErrorAt(
			report.UnknownKind,
			d,
			"kind",
			fmt.Sprintf("%s of %s is no kind that limpet reads", gvk.Kind, gvk.GroupVersion()),
		)
		return ""
	}
	a.tellReplaced(d, gvk)
	gvk.Kind = report.ShownPath(gvk.Kind)
	if isOurs(d) {
		return gvk.Kind + writtenByLimpet
	}
	return gvk.Kind
}

// writtenByLimpet stands behind the kind of what limpet wrote and does not read.
const writtenByLimpet = " (written by limpet)"

// isRouteCopy tells whether a document is a copy of a rule of another route of Gateway API, which limpet writes for
// Istio.
func isRouteCopy(d *read.Document) bool {
	k := gvkOf(d)
	return isOurs(d) && k.Group == gatewayv1.GroupName &&
		(k.Kind == object.KindHTTPRoute || k.Kind == object.KindGRPCRoute)
}

// tellReplaced says what has taken the place of a kind that Gateway API had for sessions once, and what takes that of
// an Ingress.
func (a *admitter) tellReplaced(d *read.Document, gvk schema.GroupVersionKind) {
	if gvk.Group == "networking.k8s.io" && gvk.Kind == "Ingress" {
		a.rep.AdviseAt(
			report.UnreadKind,
			d,
			"kind",
			"limpet does not read Ingresses: write an HTTPRoute ('ingress2gateway' makes one) and a "+
				"SessionPersistencePolicy; docs/migrate.md says which annotation is which field",
		)
	}
	if gvk.Group == gatewayv1.GroupName && gvk.Kind == backendLBPolicy {
		a.rep.WarnAt(
			report.OldKind,
			d,
			"kind",
			"Gateway API 1.1 and 1.2 had this kind for session persistence, and none since has it; the policy has no effect: "+
				"write a SessionPersistencePolicy of limpet.dev/v1alpha1 with the same sessionPersistence fields below spec, or "+
				"sessionPersistence in the XBackendTrafficPolicy or the rule",
		)
	}
}

// passOverUntyped passes over a document that is no object, such as Helm's values. One that says it is of a kind that
// limpet reads has lost its apiVersion.
func (a *admitter) passOverUntyped(d *read.Document) string {
	kind := d.StringAt("kind")
	known := slices.ContainsFunc(registry, func(k *Kind) bool { return k.Kind == kind })
	missing := "apiVersion"
	if kind == "" {
		missing = "kind"
	}
	_, named := d.Fields["metadata"]
	if known || a.options.StrictKinds || kind == "" && d.StringAt("apiVersion") != "" && named {
		why := "every object names its type"
		for _, name := range slices.Sorted(maps.Keys(d.Fields)) {
			if strings.EqualFold(name, missing) && name != missing {
				why += ": write " + missing + ", not " + name
			}
		}
		a.rep.Error(report.InvalidField, d, field.Required(field.NewPath(missing), why))
		return ""
	}
	if kind != "" {
		return report.ShownPath(kind)
	}
	return noObject
}

// ownGroups are those whose kinds limpet knows; a kind of theirs that is nearly one of them is misspelt.
var ownGroups = []string{gatewayv1.GroupName, gatewayxv1alpha1.GroupName, v1alpha1.Group, discoveryv1.GroupName, ""}

// knownGroups are those of which limpet knows every kind.
var knownGroups = []string{gatewayv1.GroupName, v1alpha1.Group}

// backendLBPolicy is the kind of Gateway API 1.1 and 1.2 that XBackendTrafficPolicy has taken the place of.
const backendLBPolicy = "BackendLBPolicy"

// otherKinds are kinds of these groups that limpet does not read, and whose names are near to one that it does.
var otherKinds = []schema.GroupKind{
	{Group: gatewayxv1alpha1.GroupName, Kind: "XListenerSet"},
	{Group: gatewayxv1alpha1.GroupName, Kind: "XMesh"},
	{Group: gatewayv1.GroupName, Kind: backendLBPolicy},
	{Kind: "Node"},
}

// explainMisspelt says what is wrong with a kind, version or group that is nearly one that limpet reads; empty for what
// is really another one.
func (a *admitter) explainMisspelt(gvk schema.GroupVersionKind) string {
	why, misspelt := a.explainGroup(gvk)
	if !misspelt {
		why, misspelt = explainName(gvk)
	}
	if !misspelt {
		return ""
	}
	return fmt.Sprintf("no matches for kind %q in version %q", gvk.Kind, gvk.GroupVersion()) + why
}

// explainGroup says what is wrong with the version or group of a kind that is called like one that limpet reads, and
// whether anything is.
func (a *admitter) explainGroup(gvk schema.GroupVersionKind) (why string, wrong bool) {
	var groups, versions []string
	for _, k := range registry {
		switch {
		case k.Kind != gvk.Kind || k.Group == istioGroup && !a.options.Istio:
		case k.Group == gvk.Group:
			return ": " + k.explainVersions(), true
		default:
			groups, versions = append(groups, k.Group), append(versions, k.explainVersions())
		}
	}
	onlyLimpets := gvk.Kind == object.KindSessionPolicy // others have a LoadBalancerPolicy and a ProxyConfig, too
	if len(versions) > 0 && (onlyLimpets || isOfKubernetes(gvk.Group) || isOfLimpet(gvk.Group)) {
		return ": " + strings.Join(versions, ", "), true
	}
	why = suggest.DidYouMean(gvk.Group, groups)
	return why, why != ""
}

// explainName says what is wrong with a kind that is called like none, and whether anything is.
func explainName(gvk schema.GroupVersionKind) (why string, wrong bool) {
	if isOfLimpet(gvk.Group) && gvk.Group != v1alpha1.Group {
		return "; did you mean " + v1alpha1.Group + "?", true
	}
	if !slices.Contains(ownGroups, gvk.Group) || slices.Contains(otherKinds, gvk.GroupKind()) {
		return "", false
	}
	var inGroup []string
	for _, k := range registry {
		if k.Group == gvk.Group {
			inGroup = append(inGroup, k.Kind)
		}
	}
	why = suggest.DidYouMean(gvk.Kind, inGroup)
	return why, why != "" || slices.Contains(knownGroups, gvk.Group)
}

// isOfKubernetes reports whether a group is one of Kubernetes' own: without a dot (the core, apps), or below k8s.io. No
// kind of these has its name from one of limpet's: a document of the name has another's apiVersion by mistake.
func isOfKubernetes(group string) bool {
	return !strings.Contains(group, ".") || strings.HasSuffix(group, ".k8s.io") || strings.HasSuffix(group, ".x-k8s.io")
}

// isOfLimpet reports whether a group is limpet's own, or can be meant for nothing else: limpet.io, policy.limpet.dev.
// Whoever writes one wants limpet to read the document, which does nothing where it is passed over.
func isOfLimpet(group string) bool { return strings.Contains(strings.ToLower(group), "limpet") }

// explainVersions says in which versions documents may write the kind.
func (k *Kind) explainVersions() string {
	return fmt.Sprintf("limpet reads %s of %s", k.Kind, strings.Join(k.apiVersions(), " and "))
}

// apiVersions are those in which documents may write the kind.
func (k *Kind) apiVersions() (all []string) {
	for _, v := range k.versions {
		all = append(all, schema.GroupVersion{Group: k.Group, Version: v}.String())
	}
	return all
}
