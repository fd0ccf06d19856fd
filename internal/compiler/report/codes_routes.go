package report

// explainedRoutes are those of routes.
var explainedRoutes = []Explanation{
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
		Do:      "Name a Gateway in parentRefs if limpet is to serve the route there.",
	},
	{
		Code: OverBudget, Title: "a route has more matches and hostnames than there is room for",
		Meaning: "Routes are laid out to hostnames; who would take more than --route-budget gives is refused, so that " +
			"others have room.",
		Example: "HTTPRoute shop/cart: spec: Too long: its matches come to 20 MiB on all hostnames and " +
			"listeners of Gateway shop/web, more than what goes first leaves of the 16 MiB of " +
			"namespace shop: it serves nothing there",
		Do: "Split the route, name fewer hostnames, or raise --route-budget.",
	},
	{
		Code: RouteRefused, Title: "a route, or a rule of it, is refused",
		Broad:   true,
		Meaning: "It asks for what can't be served.",
		Example: "HTTPRoute shop/cart: spec.rules[0].matches[0].method: not supported: \"CONNECT\": the " +
			"rule is dropped",
		Do: "Correct the field that is named.",
	},
	{
		Code: EqualMatch, Title: "an equal match goes first",
		Meaning: "Of two routes with the same match and hostname the older one gets the requests.",
		Example: "HTTPRoute shop/b: spec.rules[0].matches[0]: HTTPRoute shop/a, which goes first, has an " +
			"equal match: requests for * go there",
		Do: "Change one of the matches, or delete one of the routes.",
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
}
