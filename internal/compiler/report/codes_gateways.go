package report

// explainedGateways are those of Gateways and listeners.
var explainedGateways = []Explanation{
	{
		Code: NoClass, Title: "a Gateway's class is not there or not accepted",
		Meaning: "A Gateway counts when its GatewayClass is in the input, is accepted, and has limpet's controllerName.",
		Example: "Gateway shop/web: spec.gatewayClassName: Not found: \"limpet\": there is no GatewayClass limpet in the " +
			"input",
		Do: "Add the GatewayClass, or say --assume-class, which takes no value, where it is in the cluster only.",
	},
	{
		Code: OtherClass, Title: "a Gateway is another controller's",
		Meaning: "Its class names another controllerName, so that another controller serves it.",
		Example: "Gateway shop/web: spec.gatewayClassName: its class is served by example.com/c",
		Do:      "Nothing, if that is meant; else name a class of limpet's, or say --controller-name.",
	},
	{
		Code: AssumedClass, Title: "a class that is not there is taken for limpet's",
		Meaning: "--assume-class is set, and the Gateway's class is not in the input.",
		Example: "Gateway shop/web: spec.gatewayClassName: Not found: \"limpet\": there is no GatewayClass " +
			"limpet in the input: it is taken for one of limpet.dev/gateway-controller",
		Do: "Leave --assume-class out if the class is not limpet's in the cluster.",
	},
	{
		Code: UnservedClass, Title: "a Gateway is of limpet's own class, and another control plane is compiled for",
		Meaning: "-t istio and -t envoy-gateway write what their own control plane serves; a Gateway of limpet's own class " +
			"is served by limpet alone.",
		Example: "Gateway shop/web: spec.gatewayClassName: its class is served by limpet.dev/gateway-controller, not by " +
			"istio.io/gateway-controller",
		Do: "Compile it with -t envoy, or name a class of that control plane.",
	},
	{
		Code: GatewayRefused, Title: "a GatewayClass, a Gateway or a listener is refused",
		Broad:   true,
		Meaning: "It asks for what can't be served, so it is left out.",
		Example: "Gateway shop/web: spec.listeners[0].protocol: not supported: \"SCTP\": the listener is " +
			"left out",
		Do: "Correct the field that is named.",
	},
	{
		Code: AddressNotUsable, Title: "a Gateway's address can't be listened on",
		Meaning: "The address is none that a listener can have here.",
		Example: "Gateway shop/web: spec.addresses[0].value: Invalid value",
		Do:      "Name an IP address of the machine that Envoy runs on, or leave spec.addresses out.",
	},
	{
		Code: PortUnavailable, Title: "a listener's port can't be had",
		Meaning: "Another namespace's Gateway, Envoy's admin interface or another process has the address and port.",
		Example: "Gateway b/web: spec.listeners[0].port: Invalid value: 80: Gateway a/web, which goes " +
			"first, listens on 0.0.0.0:80, and Gateways of different namespaces do not share an " +
			"address and port unless the first allows it",
		Do: "Change the port or the address; --share-addresses lets Gateways of several namespaces share one.",
	},
	{
		Code: ListenerConflict, Title: "two listeners ask for the same",
		Meaning: "Listeners of one port have one protocol and different hostnames.",
		Example: "Gateway shop/web: spec.listeners[0]: Invalid value: \"http\": conflicts with listener " +
			"http of Gateway shop/old, which has the same port and hostname: the listener is left out " +
			"on 0.0.0.0:80",
		Do: "Give one of the two another port or hostname.",
	},
	{
		Code: InvalidKinds, Title: "a listener allows kinds of routes that it can't have",
		Meaning: "The protocol of the listener has no routes of this kind.",
		Example: "Gateway shop/web: spec.listeners[0].allowedRoutes.kinds[0].kind: Unsupported value: \"TCPRoute\"",
		Do:      "Take the kind out of allowedRoutes.kinds.",
	},
	{
		Code: CertificateNotUsable, Title: "a listener's certificate can't be used",
		Meaning: "The Secret is missing, may not be referred to from here, or has no valid certificate and key. Clients get" +
			" no connection there.",
		Example: "Gateway shop/web: spec.listeners[0].tls.certificateRefs[0].name: Not found: \"web\": " +
			"there is no Secret shop/web in the input: the listener does without this certificate",
		Do: "Add the Secret of type kubernetes.io/tls; in another namespace it needs a ReferenceGrant.",
	},
	{
		Code: ClientValidation, Title: "clients' certificates are not verified as asked",
		Meaning: "The authorities that tls.frontend names can't be had, or a mode lets all in.",
		Example: "Gateway shop/web: spec.tls.frontend.default.validation.caCertificateRefs[0].name: Invalid " +
			"value: \"ca\": there is no ConfigMap shop/ca in the input",
		Do: "Add the ConfigMap or Secret with ca.crt; in another namespace it needs a ReferenceGrant.",
	},
	{
		Code: ClientValidationAdvice, Title: "clients' certificates are verified less than it may seem",
		Meaning: "The setting is legal and lets more clients in than its reader may expect, or holds for no listener.",
		Example: "Gateway shop/web: spec.tls.frontend.perPort[0].tls.validation.mode: clients get in " +
			"without a certificate, and with one that no authority vouches for",
		Do: "Leave mode out to refuse clients without a good certificate.",
	},
	{
		Code: TrustedProxies, Title: "an annotation on proxies before a Gateway is not as it must be",
		Broad: true,
		Meaning: "limpet.dev/trusted-proxies and what goes with it say whose word on a client's address is believed; a " +
			"value that would believe too many is left out.",
		Example: "Gateway shop/web: metadata.annotations[limpet.dev/proxy-protocol]: left out: whoever " +
			"reaches the port could say what it likes; name the proxies in limpet.dev/trusted-proxies",
		Do: "Name the proxies' own addresses as CIDRs.",
	},
	{
		Code: ListenerSetRefused, Title: "a ListenerSet is refused",
		Meaning: "Its Gateway is missing or does not allow it.",
		Example: "ListenerSet shop/more: spec.parentRef: Forbidden",
		Do:      "Set spec.allowedListeners of the Gateway, or correct spec.parentRef.",
	},
	{
		Code: EnvoyRejects, Title: "an Envoy does not take a Gateway's configuration",
		Broad:   true,
		Meaning: "The Envoy keeps what it had of the part that it rejects; the words are its own.",
		Example: "Gateway shop/web: an Envoy does not take all of its configuration",
		Do: "Compare Envoy's version with docs/compatibility.md, and report it: limpet should not write what Envoy " +
			"rejects.",
	},
	{
		Code: InvalidParameters, Title: "parameters of a Gateway or a class lead to nothing",
		Meaning: "The parametersRef names an object that is missing or not valid.",
		Example: "Gateway shop/web: spec.infrastructure.parametersRef",
		Do:      "Add the object, or correct the reference.",
	},
}
