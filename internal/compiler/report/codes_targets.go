package report

// explainedTargets are those of targets.
var explainedTargets = []Explanation{
	{
		Code: TargetLacks, Title: "the target can't do what is asked for",
		Broad:   true,
		Meaning: "Istio and Envoy Gateway have no way to do it, or read it themselves: what is lost is said.",
		Example: "HTTPRoute shop/cart: spec.rules[0].retry: not supported by istio: a retry would move the " +
			"sessions that onHostLost Fail keeps",
		Do: "Do it in the target's own terms, or serve the route with -t envoy; docs/targets.md compares them.",
	},
	{
		Code: NativePin, Title: "a label for Istio's own pin is missing or a stranger's",
		Meaning: "--istio native-pin=true needs a label on Services, which limpet writes on objects of the input that are " +
			"its own.",
		Example: "Service shop/cart: metadata.labels",
		Do:      "Put the label on the Service, as the message says.",
	},
	{
		Code: NotOwned, Title: "an object of the input is another owner's",
		Broad:   true,
		Meaning: "limpet would write an object of this name, and the one in the input does not have its label.",
		Example: "EnvoyFilter shop/limpet-web: metadata.labels: limpet would write EnvoyFilter " +
			"shop/limpet-web, and this one is not limpet's: rename it",
		Do: "Rename the other object, or say --owner.",
	},
}
