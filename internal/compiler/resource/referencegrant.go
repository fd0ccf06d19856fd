package resource

import (
	"github.com/limpet-proxy/limpet/internal/compiler/support"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

var referenceGrantKind = newKind(definition[gatewayv1.ReferenceGrant]{
	group: gatewayv1.GroupName, kind: "ReferenceGrant", versions: []string{"v1", "v1beta1"},
	fields: func() support.Fields {
		return support.Under("spec", support.Join(
			support.Under(
				"from[]",
				support.All("group", "kind", "namespace"),
			),
			support.Under("to[]", support.All("group", "kind", "name")),
		))
	},
	list: func(o *Objects) *[]*Object[gatewayv1.ReferenceGrant] { return &o.Grants },
})
