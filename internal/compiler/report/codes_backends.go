package report

// explainedBackends are those of backends.
var explainedBackends = []Explanation{
	{
		Code: BackendNotFound, Title: "a backendRef leads to nothing",
		Meaning: "The Service, its port or its kind is not there, or may not be referred to from here. Its share of the " +
			"requests gets an error.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs[0].name: Not found: \"cart\"",
		Do:      "Add the Service, or correct the reference; in another namespace it needs a ReferenceGrant.",
	},
	{
		Code: NoBackend, Title: "a rule has nowhere to send requests",
		Meaning: "It has no backendRef, or all weights are 0.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: Required value",
		Do:      "Add a backendRef with a weight above 0.",
	},
	{
		Code: BackendInvalid, Title: "a backend can't be reached as it is described",
		Broad:   true,
		Meaning: "A port of the Service, an XBackend or an endpoint is not as it must be.",
		Example: "Service shop/cart: spec.ports[0]: Invalid value: 80: no EndpointSlice has a ready " +
			"endpoint for the port named \"\": new requests for it get 503",
		Do: "Correct the Service, the XBackend or the EndpointSlice.",
	},
	{
		Code: EndpointForbidden, Title: "an endpoint is at an address where no pod can be",
		Meaning: "Loopback, link-local and limpet's own addresses are no pods': a tenant who names one would reach what is " +
			"not its own. The endpoint is left out.",
		Example: "EndpointSlice shop/cart-1: endpoints[0].addresses[0]: Forbidden",
		Do: "Name the address of the pod. For a server on Envoy's own machine name another of its addresses than " +
			"127.0.0.1, or put its Service into the namespace of a Gateway.",
	},
	{
		Code: EndpointHere, Title: "an endpoint is on Envoy's own machine",
		Meaning: "Clients of other machines reach through the Gateway what listens there for this machine alone.",
		Example: "Service shop/cart: spec: its endpoint 127.0.0.1:8080 is on Envoy's own machine",
		Do:      "Nothing, if that is meant; else bind the Gateway to 127.0.0.1 with --bind.",
	},
	{
		Code: ServiceAdvice, Title: "something of a Service has no effect behind a Gateway",
		Broad:   true,
		Meaning: "kube-proxy reads the field, and Envoy sends to the endpoints itself.",
		Example: "Service shop/cart: spec.sessionAffinity: ClientIP is not followed: it concerns the way " +
			"through the Service's own address, and Envoy chooses endpoints itself",
		Do: "Write a session policy in its place, or say --zone.",
	},
	{
		Code: PodsUnseen, Title: "which pods a Service no longer selects is not known",
		Meaning: "There are no Pods in the input, or limpet may not list them.",
		Example: "SessionPersistencePolicy shop/p: spec: not supported: there are no Pods in the input, or " +
			"limpet may not list and watch those of the cluster",
		Do: "Allow limpet to list Pods.",
	},
	{
		Code: SplitNotSupported, Title: "a split under one session has what single backends can't have",
		Meaning: "Whose turn it is shows too late for filters of single backends.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: filters of single backends are not supported where one " +
			"session is for all",
		Do: "Put the filters into the rule, or give each backend a session of its own.",
	},
}
