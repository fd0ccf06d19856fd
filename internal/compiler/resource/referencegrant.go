package resource

import gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

var referenceGrantKind = newKind(definition[gatewayv1.ReferenceGrant]{
	group: gatewayv1.GroupName, kind: "ReferenceGrant", versions: []string{"v1", "v1beta1"},
	fields: func() fieldSupport {
		return nestUnder("spec", joinRows(
			nestUnder("from[]", supportAll("group", "kind", "namespace")), nestUnder("to[]", supportAll("group", "kind", "name")),
		))
	},
	list: func(o *Objects) *[]*Object[gatewayv1.ReferenceGrant] { return &o.Grants },
})
