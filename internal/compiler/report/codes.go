package report

// Code is the stable name of a finding, such as LIM0101: programs and people look it up by that, whatever its words are. It is said
// where the finding is made. LIM01 and so on are the sections of docs/findings.md.
type Code string

// The codes.
const (
	FileUnreadable         Code = "LIM0101"
	InvalidField           Code = "LIM0102"
	UnknownField           Code = "LIM0103"
	UnknownKind            Code = "LIM0104"
	DuplicateObject        Code = "LIM0105"
	UnsupportedField       Code = "LIM0106"
	NothingServed          Code = "LIM0107"
	NullField              Code = "LIM0108"
	DroppedField           Code = "LIM0109"
	OldKind                Code = "LIM0110"
	UnreadKind             Code = "LIM0111"
	NoClass                Code = "LIM0201"
	OtherClass             Code = "LIM0202"
	AssumedClass           Code = "LIM0203"
	UnservedClass          Code = "LIM0204"
	GatewayRefused         Code = "LIM0205"
	AddressNotUsable       Code = "LIM0206"
	PortUnavailable        Code = "LIM0207"
	ListenerConflict       Code = "LIM0208"
	InvalidKinds           Code = "LIM0209"
	CertificateNotUsable   Code = "LIM0210"
	ClientValidation       Code = "LIM0211"
	ClientValidationAdvice Code = "LIM0212"
	TrustedProxies         Code = "LIM0213"
	ListenerSetRefused     Code = "LIM0214"
	EnvoyRejects           Code = "LIM0215"
	InvalidParameters      Code = "LIM0216"
	NoParent               Code = "LIM0301"
	ParentRefused          Code = "LIM0302"
	OtherParent            Code = "LIM0303"
	OverBudget             Code = "LIM0304"
	RouteRefused           Code = "LIM0305"
	EqualMatch             Code = "LIM0306"
	HostsWithheld          Code = "LIM0307"
	HostTaken              Code = "LIM0308"
	HeaderMatch            Code = "LIM0309"
	NearBudget             Code = "LIM0310"
	BackendNotFound        Code = "LIM0401"
	NoBackend              Code = "LIM0402"
	BackendInvalid         Code = "LIM0403"
	EndpointForbidden      Code = "LIM0404"
	EndpointHere           Code = "LIM0405"
	ServiceAdvice          Code = "LIM0406"
	PodsUnseen             Code = "LIM0407"
	SplitNotSupported      Code = "LIM0408"
	PolicyInvalid          Code = "LIM0501"
	TargetNotFound         Code = "LIM0502"
	PolicyOverridden       Code = "LIM0503"
	PolicyAdvice           Code = "LIM0504"
	PolicyIdle             Code = "LIM0505"
	TooManyAncestors       Code = "LIM0506"
	CookieRenamed          Code = "LIM0507"
	SessionWithheld        Code = "LIM0508"
	SessionRefused         Code = "LIM0509"
	SharedHeader           Code = "LIM0510"
	CachedSession          Code = "LIM0511"
	PlainCookie            Code = "LIM0512"
	AddressReuse           Code = "LIM0513"
	IssueOnTLS             Code = "LIM0514"
	Revocation             Code = "LIM0515"
	SessionsEnd            Code = "LIM0516"
	ValueChanges           Code = "LIM0517"
	OldSessionShape        Code = "LIM0518"
	TooManyOwners          Code = "LIM0519"
	BalancingNotHonoured   Code = "LIM0601"
	ForeignCookie          Code = "LIM0602"
	OutlierWaits           Code = "LIM0603"
	RetryNotHonoured       Code = "LIM0604"
	RetryAdvice            Code = "LIM0605"
	PolicyConflict         Code = "LIM0606"
	FilterWithoutEffect    Code = "LIM0607"
	BackendTLS             Code = "LIM0701"
	TargetLacks            Code = "LIM0801"
	NativePin              Code = "LIM0802"
	NotOwned               Code = "LIM0803"
)

// Explanation says what a code means, for 'limpet explain' and docs/findings.md.
type Explanation struct {
	Code  Code
	Title string
	// Broad says that several faults have the code, each with words of its own: only those with equal words are the same finding.
	Broad bool
	// Meaning is what it means for who wrote the object, Example what limpet says, and Do what to do about it.
	Meaning, Example, Do string
}

// Explanations are those of all codes, in order.
var Explanations = []Explanation{
	{
		Code: FileUnreadable, Title: "a file can't be read",
		Broad: true,
		Meaning: "The file is no YAML or JSON, is empty, or is beyond what limpet reads. None of its objects counts, as " +
			"nothing is known of them.",
		Example: "cart.yaml:7: mapping values are not allowed in this context",
		Do:      "Correct the line that is named; where the file has no objects for limpet, leave it out of -f.",
	},
	{
		Code: InvalidField, Title: "a field is not as the API wants it",
		Broad: true,
		Meaning: "An API server would refuse the object: a field is missing, is of another type, or has a value that its " +
			"CRD excludes. The object is left out.",
		Example: "Gateway default/g: spec.listeners: Required value",
		Do:      "Write the field as the message says; 'kubectl explain' has the field's meaning.",
	},
	{
		Code: UnknownField, Title: "a field is not known",
		Broad: true,
		Meaning: "The kind has no field of this name, so an API server drops it or refuses the object. The object is left " +
			"out.",
		Example: "HTTPRoute shop/cart: spec.rules[0].sesionPersistence: unknown field; did you mean sessionPersistence?",
		Do:      "Correct the name; it may also belong elsewhere in the object, or to another release of the API.",
	},
	{
		Code: UnknownKind, Title: "a kind is not known",
		Broad: true,
		Meaning: "The document's kind, or its version, is none that limpet reads, and its group is one of limpet's or " +
			"--strict-kinds is set.",
		Example: "no matches for kind \"SessionPersistencePolicy\" in version \"limpet.dev/v1\"",
		Do:      "Correct apiVersion or kind, or leave --strict-kinds out.",
	},
	{
		Code: DuplicateObject, Title: "an object is there twice",
		Meaning: "Two documents have one kind, namespace and name. The first one counts.",
		Example: "Service shop/cart: metadata.name: Duplicate value: \"cart\"",
		Do:      "Delete one of the two, or give it another name.",
	},
	{
		Code: UnsupportedField, Title: "limpet does not support what a field asks for",
		Broad: true,
		Meaning: "An API server would admit the object, and limpet does not do what the field asks for: the rule, the " +
			"listener or the object is left out, for anything else would be a guess.",
		Example: "HTTPRoute shop/cart: spec.rules[0].filters[0].type: Unsupported value",
		Do: "Take the field out, or serve the route by another implementation; docs/gateway-api.md lists what is " +
			"supported.",
	},
	{
		Code: NothingServed, Title: "no listener is left",
		Meaning: "All Gateways are left out or none is there, so nothing would be served. What is said before it says why.",
		Example: "no listener is left, so nothing would be served",
		Do: "Add a Gateway and its GatewayClass; where the class is in the cluster only, say --assume-class; where its" +
			" controllerName is another one, say --controller-name.",
	},
	{
		Code: NullField, Title: "null takes the field away in files only",
		Meaning: "An API server drops a field whose value is null, so that the same document means something else in a " +
			"cluster.",
		Example: "SessionPersistencePolicy shop/p: spec.idleTimeout: null takes the field away in files only",
		Do:      "Write unset, which means the same everywhere.",
	},
	{
		Code: DroppedField, Title: "the API server of a release refuses or drops the field",
		Broad: true,
		Meaning: "The API server of the release that --gateway-api names, or that the document shows, does not take the field: it " +
			"refuses the object, or drops the field without a word. limpet reads it all the same.",
		Example: "HTTPRoute shop/cart: spec.rules[0].sessionPersistence.cookie: is no field of Gateway API 1.6",
		Do:      "Write the session in a SessionPersistencePolicy, or raise the cluster's Gateway API and --gateway-api.",
	},
	{
		Code: OldKind, Title: "the kind is of an earlier Gateway API",
		Meaning: "Gateway API 1.1 and 1.2 had BackendLBPolicy for sessions, and no later release has it.",
		Example: "BackendLBPolicy shop/p: kind: Gateway API 1.1 and 1.2 had this kind",
		Do:      "Write a SessionPersistencePolicy of limpet.dev instead.",
	},
	{
		Code: UnreadKind, Title: "limpet does not read Ingresses",
		Meaning: "An Ingress, and what its annotations say of affinity, is passed over: another controller may serve it.",
		Example: "Ingress shop/web: kind: limpet does not read Ingresses",
		Do: "To have limpet serve its requests write an HTTPRoute ('ingress2gateway' makes one) and a SessionPersistencePolicy; " +
			"docs/migrate.md says which annotation is which field.",
	},
	{
		Code: NoClass, Title: "a Gateway's class is not there or not accepted",
		Meaning: "A Gateway counts when its GatewayClass is in the input, is accepted, and has limpet's controllerName.",
		Example: "Gateway shop/web: spec.gatewayClassName: Not found: \"limpet\": there is no GatewayClass limpet in the " +
			"input",
		Do: "Add the GatewayClass, or say --assume-class where it is in the cluster only.",
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
		Example: "Gateway shop/web: spec.gatewayClassName: Not found: \"limpet\": it is taken for one of " +
			"limpet.dev/gateway-controller",
		Do: "Nothing, if the class is limpet's in the cluster.",
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
		Example: "Gateway shop/web: spec.listeners[0].protocol: Unsupported value: \"SCTP\": the listener is left out",
		Do:      "Correct the field that is named.",
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
		Example: "Gateway shop/web: spec.listeners[0].port: Invalid value: 80: 127.0.0.1:80 is in use by another process",
		Do:      "Change the port or the address; --share-addresses lets Gateways of several namespaces share one.",
	},
	{
		Code: ListenerConflict, Title: "two listeners ask for the same",
		Meaning: "Listeners of one port have one protocol and different hostnames.",
		Example: "Gateway shop/web: spec.listeners[1]: Invalid value: \"b\": listener a has this port and hostname",
		Do:      "Give one of the two another port or hostname.",
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
		Example: "Gateway shop/web: spec.listeners[0].tls.certificateRefs[0]: Not found: \"web\"",
		Do:      "Add the Secret of type kubernetes.io/tls; in another namespace it needs a ReferenceGrant.",
	},
	{
		Code: ClientValidation, Title: "clients' certificates are not verified as asked",
		Meaning: "The authorities that tls.frontend names can't be had, or a mode lets all in.",
		Example: "Gateway shop/web: spec.tls.frontend.default.validation.caCertificateRefs: Not found: \"ca\"",
		Do:      "Add the ConfigMap or Secret with ca.crt; in another namespace it needs a ReferenceGrant.",
	},
	{
		Code: ClientValidationAdvice, Title: "clients' certificates are verified less than it may seem",
		Meaning: "The setting is legal and lets more clients in than its reader may expect, or holds for no listener.",
		Example: "Gateway shop/web: spec.tls.frontend.default.validation.mode: clients get in without a certificate",
		Do:      "Leave mode out to refuse clients without a good certificate.",
	},
	{
		Code: TrustedProxies, Title: "an annotation on proxies before a Gateway is not as it must be",
		Broad: true,
		Meaning: "limpet.dev/trusted-proxies and what goes with it say whose word on a client's address is believed; a " +
			"value that would believe too many is left out.",
		Example: "Gateway shop/web: metadata.annotations[limpet.dev/trusted-proxies]: Invalid value: \"0.0.0.0/0\": would " +
			"believe every client",
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
	{
		Code: NoParent, Title: "a route has no parent",
		Meaning: "Without a parentRef a route attaches to nothing, and gets no request.",
		Example: "HTTPRoute shop/cart: spec.parentRefs: Required value: without one the route attaches to nothing",
		Do:      "Add spec.parentRefs with the Gateway's name.",
	},
	{
		Code: ParentRefused, Title: "a route does not attach to a parent",
		Meaning: "The parent is missing, has no such listener, or does not allow the route: its namespace, its kind or its " +
			"hostnames.",
		Example: "HTTPRoute shop/cart: spec.parentRefs[0].name: Not found: \"web\"",
		Do:      "Correct the reference, or the Gateway's allowedRoutes and hostname.",
	},
	{
		Code: OtherParent, Title: "a parent is not for limpet",
		Meaning: "The parent is no Gateway, as a Service in a mesh; who serves that parent reads the route.",
		Example: "HTTPRoute shop/cart: spec.parentRefs[0].kind",
		Do:      "Nothing, if that is meant.",
	},
	{
		Code: OverBudget, Title: "a route has more matches and hostnames than there is room for",
		Meaning: "Routes are laid out to hostnames; who would take more than --route-budget gives is refused, so that " +
			"others have room.",
		Example: "HTTPRoute shop/cart: spec: Too many",
		Do:      "Split the route, name fewer hostnames, or raise --route-budget.",
	},
	{
		Code: RouteRefused, Title: "a route, or a rule of it, is refused",
		Broad:   true,
		Meaning: "It asks for what can't be served.",
		Example: "HTTPRoute shop/cart: spec.rules[0].matches[0].path.value: Invalid value",
		Do:      "Correct the field that is named.",
	},
	{
		Code: EqualMatch, Title: "an equal match goes first",
		Meaning: "Of two routes with the same match and hostname the older one gets the requests.",
		Example: "HTTPRoute shop/b: spec.rules[0].matches[0]: HTTPRoute shop/a, which goes first, has the same match",
		Do:      "Change one of the matches, or delete one of the routes.",
	},
	{
		Code: HostsWithheld, Title: "a route is not laid out to hostnames of others",
		Meaning: "A wide hostname's routes hold for more specific ones too; where that would be too many, or another " +
			"namespace's, it is not done.",
		Example: "HTTPRoute shop/all: spec.hostnames: Invalid value: \"*.example.com\"",
		Do:      "Name the more specific hostnames in the route itself.",
	},
	{
		Code: HostTaken, Title: "an HTTPProxy's virtual host can't be served",
		Meaning: "The name is missing, is no DNS name, or another HTTPProxy has it.",
		Example: "HTTPProxy shop/p: spec.virtualhost.fqdn: Invalid value: \"shop.example.com\"",
		Do:      "Give the virtual host a name of its own.",
	},
	{
		Code: HeaderMatch, Title: "a header of a match or a session can't arrive",
		Meaning: "Listeners refuse headers with an underscore in their name, and of two entries for one header the first " +
			"counts.",
		Example: "HTTPRoute shop/cart: spec.rules[0].matches[0].headers[0].name",
		Do:      "Use a name with hyphens, once.",
	},
	{
		Code: NearBudget, Title: "half of a budget of routes is taken",
		Broad: true,
		Meaning: "Routes of a Gateway, of a namespace or of all together take half of the room that there " +
			"is, or more. What comes beyond it is refused.",
		Example: "routes take 9 MiB of the 16 MiB of namespace shop",
		Do:      "Nothing yet; name fewer hostnames, or raise --route-budget, before it is full.",
	},
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
		Example: "Service shop/cart: spec.ports[0].targetPort: Invalid value",
		Do:      "Correct the Service, the XBackend or the EndpointSlice.",
	},
	{
		Code: EndpointForbidden, Title: "an endpoint is at an address where no pod can be",
		Meaning: "Loopback, link-local and limpet's own addresses are no pods': a tenant who names one would reach what is " +
			"not its own. The endpoint is left out.",
		Example: "EndpointSlice shop/cart-1: endpoints[0].addresses[0]: Forbidden",
		Do: "Name the address of the pod. For a server on Envoy's own machine name another of its addresses than 127.0.0.1, or put its " +
			"Service into the namespace of a Gateway.",
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
		Example: "Service shop/cart: spec.sessionAffinity: has no effect",
		Do:      "Write a session policy in its place, or say --zone.",
	},
	{
		Code: PodsUnseen, Title: "which pods a Service no longer selects is not known",
		Meaning: "There are no Pods in the input, or limpet may not list them.",
		Example: "SessionPersistencePolicy shop/p: spec: not supported: there are no Pods in the input",
		Do:      "Allow limpet to list Pods.",
	},
	{
		Code: SplitNotSupported, Title: "a split under one session has what single backends can't have",
		Meaning: "Whose turn it is shows too late for filters of single backends.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: filters of single backends are not supported where one " +
			"session is for all",
		Do: "Put the filters into the rule, or give each backend a session of its own.",
	},
	{
		Code: PolicyInvalid, Title: "a policy is not valid",
		Broad:   true,
		Meaning: "A policy's spec contradicts itself, or has what its target can't have: it has no effect.",
		Example: "SessionPersistencePolicy shop/p: spec: Invalid value: the policy has no effect",
		Do:      "Correct the field that is named.",
	},
	{
		Code: TargetNotFound, Title: "a policy's target is not there",
		Meaning: "The targetRef names no object of the input, or a section that the object has not.",
		Example: "SessionPersistencePolicy shop/p: spec.targetRefs[0].name: Not found: \"cart\"",
		Do:      "Correct the reference: kind, name and sectionName; a target is in the policy's own namespace.",
	},
	{
		Code: PolicyOverridden, Title: "a policy's value does not hold as it is written",
		Broad:   true,
		Meaning: "A stronger or older object has the field, or the field means nothing there.",
		Example: "SessionPersistencePolicy shop/p: spec.idleTimeout: SessionPersistencePolicy shop/a, which goes first, has" +
			" it",
		Do: "See 'limpet describe' for what holds and why; take the value out where it does not.",
	},
	{
		Code: PolicyAdvice, Title: "what a policy comes to may not be what its reader expects",
		Broad:   true,
		Meaning: "The value holds, and something follows from it that is easily missed.",
		Example: "SessionPersistencePolicy shop/p: spec.cookie: rule 0 of HTTPRoute shop/api has a header, which has no " +
			"cookie's attributes",
		Do: "Nothing, if that is meant.",
	},
	{
		Code: PolicyIdle, Title: "a policy has no effect at one of its ancestors",
		Broad:   true,
		Meaning: "Stronger objects leave nothing of it there, or no request comes there.",
		Example: "SessionPersistencePolicy shop/p: for Gateway web: no field of it is effective",
		Do:      "Take the policy away, or see 'limpet describe' for what is stronger.",
	},
	{
		Code: TooManyAncestors, Title: "a policy reaches more Gateways than its status can list",
		Meaning: "GEP-713 gives a policy's status room for 16 ancestors: on the others it has no effect.",
		Example: "SessionPersistencePolicy shop/p: spec.targetRefs",
		Do:      "Write a policy for each part of the Gateways.",
	},
	{
		Code: CookieRenamed, Title: "a cookie has another name than the one that is written",
		Meaning: "Two sessions that one browser may have would overwrite each other's cookie.",
		Example: "HTTPRoute shop/b: spec.rules[0].sessionPersistence.sessionName: limpet serves the cookie \"cart\" as " +
			"\"cart-8d7261439b72\"",
		Do: "Give each session a name of its own.",
	},
	{
		Code: SessionWithheld, Title: "a rule goes without the session that it asks for",
		Broad:   true,
		Meaning: "The proxies can't keep the session there, another namespace's would suffer, or its header is in the access log.",
		Example: "HTTPRoute shop/cart: spec.rules[0]",
		Do:      "Do what the message says.",
	},
	{
		Code: SessionRefused, Title: "a rule's session can't be kept as it is asked for",
		Broad:   true,
		Meaning: "Two parts of it exclude each other: requests of the rule get an error, so that nobody relies on it.",
		Example: "HTTPRoute shop/cart: spec.rules[0].sessionPersistence: Invalid value",
		Do:      "Correct the session.",
	},
	{
		Code: SharedHeader, Title: "backends of a rule share a session's header",
		Meaning: "A client sends one value of a header: only the session in the backend used last is kept.",
		Example: "HTTPRoute shop/cart: spec.rules[0]: the rule's backends share the header x-cart",
		Do:      "Use a cookie, or a policy on the route.",
	},
	{
		Code: CachedSession, Title: "answers that begin sessions may be cached",
		Meaning: "A cache that keeps an answer gives the same session to many.",
		Example: "HTTPRoute shop/cart: spec.rules[0].filters: the rule sets Cache-Control",
		Do:      "Set Cache-Control: private or no-store on what begins sessions.",
	},
	{
		Code: PlainCookie, Title: "cookies are Secure and the listener is plain HTTP",
		Meaning: "Browsers and curl send a Secure cookie over TLS alone, but to 127.0.0.1 and localhost: sessions do not " +
			"stick there.",
		Example: "Gateway shop/web: spec.listeners[0]: cookies of sessions behind it are Secure, and it is plain HTTP",
		Do: "Use an HTTPS listener; where a proxy before it ends TLS, name that in the annotation " +
			"limpet.dev/trusted-proxies.",
	},
	{
		Code: AddressReuse, Title: "a session goes with an address, not with a pod",
		Meaning: "Who had an address before is not known here: a session whose pod is gone goes to the pod that has its " +
			"address now.",
		Example: "Gateway shop/web: sessions behind it are with addresses",
		Do:      "Serve with 'limpet serve' or 'limpet run', which follow endpoints, or set absoluteTimeout.",
	},
	{
		Code: IssueOnTLS, Title: "no session begins on a plain listener",
		Meaning: "The policy says issueOn: TLS, and the listener is plain HTTP.",
		Example: "Gateway shop/web: spec.listeners[0]: sessions behind it have issueOn: TLS, and it is plain HTTP",
		Do:      "Use an HTTPS listener, or name the proxy before it in limpet.dev/trusted-proxies.",
	},
	{
		Code: Revocation, Title: "a revocation does more or less than it says",
		Meaning: "What it names is no backend of the rule, or its hosts can't be told apart in tokens.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: the hosts of Service shop/cart are behind names",
		Do:      "Revoke by notBefore or epoch.",
	},
	{
		Code: SessionsEnd, Title: "a change ends sessions",
		Meaning: "Compared with --since, sessions that clients have are void under the new objects.",
		Example: "HTTPRoute shop/cart: spec.rules[0]: the sessions of a rule end: no rule is named cart any more",
		Do:      "Keep the rule's name, matches and session name, or change them when few are there.",
	},
	{
		Code: ValueChanges, Title: "a change elsewhere changes a rule's session",
		Meaning: "Compared with --since, a value is another one in a rule whose own document has not changed.",
		Example: "HTTPRoute shop/cart: spec.rules[0]: idleTimeout is 9m by SessionPersistencePolicy shop/default",
		Do:      "Nothing, if that is meant.",
	},
	{
		Code: OldSessionShape, Title: "a session is written as an earlier release has it",
		Meaning: "A later release of Gateway API has other fields for the same.",
		Example: "HTTPRoute shop/cart: spec.rules[0].sessionPersistence.type",
		Do:      "Nothing, until the cluster has the later release.",
	},
	{
		Code: TooManyOwners, Title: "a rule has more endpoints than tokens can tell apart",
		Meaning: "Sessions of the rule are with addresses.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: Too many",
		Do:      "Split the rule.",
	},
	{
		Code: BalancingNotHonoured, Title: "balancing is not as a policy asks",
		Broad:   true,
		Meaning: "Some field of a LoadBalancerPolicy, or of what asks for balancing elsewhere, has no effect there.",
		Example: "LoadBalancerPolicy shop/p: spec.strategy: ignored: the strategy is not RequestHash",
		Do:      "Correct the field that is named.",
	},
	{
		Code: ForeignCookie, Title: "requests are spread by a cookie that is not limpet's",
		Meaning: "Contour's own cookie is not signed: anyone can make one and choose a host.",
		Example: "HTTPProxy shop/p: spec.routes[0].loadBalancerPolicy.strategy: requests are spread by Contour's own cookie",
		Do:      "Write a session policy for limpet's tokens.",
	},
	{
		Code: OutlierWaits, Title: "outlier detection waits",
		Meaning: "It would take out the errors that stand for a backend without hosts.",
		Example: "HTTPRoute shop/cart: spec.rules[0].backendRefs: outlierDetection of p waits until every backend has a " +
			"host",
		Do: "Give each backend a host.",
	},
	{
		Code: RetryNotHonoured, Title: "retries are not as asked",
		Broad:   true,
		Meaning: "Envoy, or a session that may not move, does something else with retries.",
		Example: "HTTPRoute shop/cart: spec.rules[0].retry",
		Do:      "Correct the field that is named.",
	},
	{
		Code: RetryAdvice, Title: "retries come to less than it may seem",
		Broad:   true,
		Meaning: "The setting holds, and something follows from it that is easily missed.",
		Example: "XBackendTrafficPolicy shop/p: spec.retryConstraint",
		Do:      "Nothing, if that is meant.",
	},
	{
		Code: PolicyConflict, Title: "another policy has the target",
		Meaning: "Of two policies of one kind on one target the older one holds.",
		Example: "XBackendTrafficPolicy shop/b: spec.targetRefs[0]",
		Do:      "Delete one of the two, or give it another target.",
	},
	{
		Code: FilterWithoutEffect, Title: "a filter has no effect",
		Meaning: "Another filter of the rule answers first.",
		Example: "HTTPRoute shop/cart: spec.rules[0].filters[1].cors: has no effect",
		Do:      "Take one of the two out.",
	},
	{
		Code: BackendTLS, Title: "TLS to a backend is not as asked",
		Broad: true,
		Meaning: "The policy is not valid, or its authorities can't be had: nothing is sent there in the clear, requests " +
			"get an error.",
		Example: "BackendTLSPolicy shop/p: spec.validation.caCertificateRefs: Not found: \"ca\"",
		Do:      "Add the ConfigMap or Secret with ca.crt, and correct the policy.",
	},
	{
		Code: TargetLacks, Title: "the target can't do what is asked for",
		Broad:   true,
		Meaning: "Istio and Envoy Gateway have no way to do it, or read it themselves: what is lost is said.",
		Example: "HTTPRoute shop/cart: spec.rules[0].filters: not supported by Istio",
		Do:      "Do it in the target's own terms, or serve the route with -t envoy; docs/targets.md compares them.",
	},
	{
		Code: NativePin, Title: "a label for Istio's own pin is missing or a stranger's",
		Meaning: "--istio native-pin=true needs a label on Services, which limpet writes on objects of the input that are its " +
			"own.",
		Example: "Service shop/cart: metadata.labels",
		Do:      "Put the label on the Service, as the message says.",
	},
	{
		Code: NotOwned, Title: "an object of the input is another owner's",
		Broad:   true,
		Meaning: "limpet would write an object of this name, and the one in the input does not have its label.",
		Example: "WasmPlugin shop/limpet: metadata.labels: limpet would write it, and this one is not limpet's: rename it",
		Do:      "Rename the other object, or say --owner.",
	},
}

// Explain gives what a code means; false for none of limpet's.
func Explain(code Code) (Explanation, bool) {
	for _, e := range Explanations {
		if e.Code == code {
			return e, true
		}
	}
	return Explanation{}, false
}
