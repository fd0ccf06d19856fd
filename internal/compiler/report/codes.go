package report

import "slices"

// Code is the stable name of a finding, such as LIM0101: programs and people look it up by that, whatever its words
// are. It is said where the finding is made. LIM01 and so on are the sections of docs/findings.md.
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
	// Broad says that several faults have the code, each with words of its own: only those with equal words are the same
	// finding.
	Broad bool
	// Meaning is what it means for who wrote the object, Example what limpet says, and Do what to do about it.
	Meaning, Example, Do string
}

// Explanations are those of all codes, in order.
var Explanations = slices.Concat(
	explainedReading, explainedGateways, explainedRoutes, explainedBackends,
	explainedSessions, explainedBalancing, explainedBackendTLS, explainedTargets,
)

// Explain gives what a code means; false for none of limpet's.
func Explain(code Code) (Explanation, bool) {
	for _, e := range Explanations {
		if e.Code == code {
			return e, true
		}
	}
	return Explanation{}, false
}
