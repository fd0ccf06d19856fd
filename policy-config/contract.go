package policyconfig

// What the filter, the compiler and the command agree on besides the configuration. The names of environment variables
// are those of the program that runs the filter, such as Envoy.
const (
	// DefaultKeysEnv is the environment variable that holds the key ring when a configuration names no source.
	DefaultKeysEnv = "LIMPET_KEYS"
	// RootSecretEnv is the environment variable with the root secret that sealed key rings are under; token.ParseRoots
	// reads it.
	RootSecretEnv = "LIMPET_ROOT" //nolint:gosec // a variable's name

	// OutcomeFilterState is the filter state with a request's outcome, as the filter sets it. Envoy has it under the name
	// wasm.limpet.
	OutcomeFilterState = "limpet"

	// The filter state that accessLogFields has the filter set, besides. The session's is there with sessionDigest only.
	NameFilterState    = "limpet_outcome"
	PolicyFilterState  = "limpet_policy"
	AgeFilterState     = "limpet_age"
	HostFilterState    = "limpet_host"
	ReasonFilterState  = "limpet_reason"
	SessionFilterState = "limpet_session"
	// MirrorFilterState has the cookies of a mirrored request without its token.
	MirrorFilterState = "limpet_mirror"

	// TicketHeader is the header of a request in which a ticket is, and AnswerHeader that of the response to it.
	TicketHeader = "limpet-ticket"
	AnswerHeader = "limpet-session"

	// ShardHeader is the header that requests have within an Envoy that finds their routes by it, whatever their
	// clients say.
	ShardHeader = "x-limpet-shard"

	// CrossSiteSuffix ends the name of the second cookie that crossSite asks for.
	CrossSiteSuffix = "-cross-site"

	// RefusedCounter counts the requests that got 503 because what came with their route is broken.
	RefusedCounter = "limpet_requests_refused"
	// PassedCounter counts the requests on routes of which a configuration with policies for routes says nothing, and
	// SteeredCounter those of them whose client named a host in the pin header, which a fence would have removed.
	PassedCounter  = "limpet_requests_without_policy"
	SteeredCounter = "limpet_requests_unfenced"
	// RefusedDetails is response.code_details of those.
	RefusedDetails = "limpet_broken_policy"

	// BackendMetadata is the namespace of endpoints' metadata in which BackendMetadataKey has the tag of the endpoint's
	// backend: eight hexadecimal digits. In SubsetMetadata, which Envoy's load balancer reads of endpoints and requests,
	// the same key is there for endpoints that take new sessions.
	BackendMetadata    = "limpet"
	BackendMetadataKey = "limpet.backend"
	SubsetMetadata     = "envoy.lb"

	// MemoryGauge is the gauge of the memory that all workers' filters have, and KeysGauge that with the fingerprint of
	// the key ring.
	MemoryGauge = "limpet_memory_bytes"
	KeysGauge   = "limpet_keys_fingerprint"
)

// BackendHeader is the internal header that names the backend of a pinned request's session: the pin header's
// companion.
func BackendHeader(pinHeader string) string { return pinHeader + "-backend" }

// The parts of the names of a policy's counters, one for each outcome and one for each cause of a warning.
const (
	Sessions     = "limpet_sessions"
	Warnings     = "limpet_warnings"
	PolicyLabel  = "policy"
	OutcomeLabel = "outcome"
	CauseLabel   = "cause"
)

// SessionsCounter is the name of the counter of a policy's requests with an outcome.
func SessionsCounter(policy, outcome string) string {
	return Sessions + "." + PolicyLabel + "." + policy + "." + OutcomeLabel + "." + outcome
}

// WarningsCounter is the name of the counter of a policy's requests that had a cause for a warning.
func WarningsCounter(policy, cause string) string {
	return Warnings + "." + PolicyLabel + "." + policy + "." + CauseLabel + "." + cause
}

// Regular expressions for what Envoy makes of those names, which puts wasmcustom in front. The first group is what goes
// from a counter's name, and the second is the value of the label that takes its place.
const (
	PolicyLabelPattern  = `^wasmcustom\.` + Sessions + `(\.policy\.(.+))\.outcome\.[a-z-]+$`
	OutcomeLabelPattern = `^wasmcustom\.` + Sessions + `\..*(\.outcome\.([a-z-]+))$`
)

// EnvironmentVariable is the one that the filter reads with these keys; empty when the ring is in the configuration, in
// the clear.
func (k Keys) EnvironmentVariable() string {
	switch {
	case k.Ring != nil:
		return ""
	case k.Sealed != "" || k.Gateway != "":
		return RootSecretEnv
	case k.FromEnv != "":
		return k.FromEnv
	}
	return DefaultKeysEnv
}
