package resource

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
)

// Platform is an object of a control plane's own kind; only its metadata is read.
type Platform struct{ metav1.ObjectMeta }

// platformKind admits all of these kinds. Its GroupKind is empty: the documents have it.
var platformKind = &Kind{
	nameRule: apivalidation.NameIsDNSSubdomain,
	list:     listOf[Platform]{of: func(o *Objects) *[]*Object[Platform] { return &o.Platform }},
	store: func(a *admitter, d *read.Document) {
		var o struct {
			metav1.ObjectMeta `json:"metadata"`
		}
		if !a.decode(d, map[string]any{"metadata": d.Fields["metadata"]}, &o) {
			return
		}
		a.objects.Platform = append(a.objects.Platform, &Object[Platform]{
			Document: d, Kind: d.StringAt("kind"), Namespace: o.Namespace, Name: o.Name,
			Created: o.CreationTimestamp.Time, Labels: o.Labels, Value: &Platform{o.ObjectMeta},
		})
	},
}
