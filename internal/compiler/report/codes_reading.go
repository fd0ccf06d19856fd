package report

// explainedReading are those of files and documents.
var explainedReading = []Explanation{
	{
		Code: FileUnreadable, Title: "a file can't be read",
		Broad: true,
		Meaning: "The file is no YAML or JSON, is empty, or is beyond what limpet reads. None of its objects counts, as " +
			"nothing is known of them.",
		Example: "cart.yaml:7: broken YAML: mapping values are not allowed in this context: this line, or " +
			"the one before, is not indented as the lines that it belongs to",
		Do: "Correct the line that is named; where the file has no objects for limpet, leave it out of -f.",
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
		Example: "HTTPProxy shop/root: spec.includes: not supported",
		Do: "Take the field out, or serve the route by another implementation; docs/gateway-api.md lists what is " +
			"supported.",
	},
	{
		Code: NothingServed, Title: "no listener is left",
		Meaning: "All Gateways are left out or none is there, so nothing would be served. What is said before it says why.",
		Example: "no listener is left, so nothing would be served",
		Do: "Add a Gateway and its GatewayClass; where the class is in the cluster only, say --assume-class, which takes no" +
			" value; where its controllerName is another one, say --controller-name NAME.",
	},
	{
		Code: NullField, Title: "null takes the field away in files only",
		Meaning: "An API server drops a field whose value is null, so that the same document means something else in a " +
			"cluster.",
		Example: "SessionPersistencePolicy shop/p: spec.cookie.sameSite: null takes the field away in files " +
			"only, for API servers drop it: write unset",
		Do: "Write unset, which means the same everywhere.",
	},
	{
		Code: DroppedField, Title: "the API server of a release refuses or drops the field",
		Broad: true,
		Meaning: "The API server of the release that --gateway-api names, or that the document shows, does not take the " +
			"field: it refuses the object, or drops the field without a word. limpet reads it all the same.",
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
		Do: "To have limpet serve its requests write an HTTPRoute ('ingress2gateway' makes one) and a " +
			"SessionPersistencePolicy; docs/migrate.md says which annotation is which field.",
	},
}
