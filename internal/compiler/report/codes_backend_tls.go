package report

// explainedBackendTLS are those of TLS to backends.
var explainedBackendTLS = []Explanation{
	{
		Code: BackendTLS, Title: "TLS to a backend is not as asked",
		Broad: true,
		Meaning: "The policy is not valid, or its authorities can't be had: nothing is sent there in the clear, requests " +
			"get an error.",
		Example: "BackendTLSPolicy shop/p: spec.validation.caCertificateRefs[0].name: Invalid value: " +
			"\"ca\": there is no ConfigMap shop/ca in the input",
		Do: "Add the ConfigMap or Secret with ca.crt, and correct the policy.",
	},
}
