package resource_test

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/compilertest"
	"github.com/limpet-proxy/limpet/internal/compiler/resource"
	"github.com/limpet-proxy/limpet/internal/compiler/sessionapi"
)

// ruleWith is an HTTPRoute with a sessionPersistence in its only rule.
func ruleWith(session string) string {
	return document(httpRoute, "spec: {rules: [{sessionPersistence: {"+session+"}}]}")
}

// TestInlineSessions holds where a sessionPersistence is found, of which release it is, and that nothing of it is left in
// the object, whose Go type has one shape alone.
//
// requirements: S17, S18, S21
func TestInlineSessions(t *testing.T) {
	for name, c := range map[string]struct {
		options  resource.Options
		document string
		path     string
		release  sessionapi.APIRelease
	}{
		"up to 1.6":                 {resource.Options{}, ruleWith("sessionName: a"), "spec.rules[0].sessionPersistence", sessionapi.Release16},
		"from 1.7 on":               {resource.Options{}, ruleWith("cookie: {name: a}"), "spec.rules[0].sessionPersistence", sessionapi.Release17},
		"that shows nothing":        {resource.Options{}, ruleWith("type: Cookie"), "spec.rules[0].sessionPersistence", sessionapi.Unstated},
		"an idleTimeout, up to 1.5": {resource.Options{}, ruleWith("sessionName: a, idleTimeout: 1h"), "spec.rules[0].sessionPersistence", sessionapi.Release16},
		"of a GRPCRoute":            {resource.Options{}, document(grpcRoute, "spec: {rules: [{}, {sessionPersistence: {sessionName: a}}]}"), "spec.rules[1].sessionPersistence", sessionapi.Release16},
		"of an XBackend":            {resource.Options{}, document(xbackend, "spec: {type: EndpointSelector, port: {number: 80}, endpointSelector: {matchLabels: {a: b}}, sessionPersistence: {cookie: {name: a}}}"), "spec.sessionPersistence", sessionapi.Release17},
		"of a traffic policy":       {resource.Options{}, document(trafficPolicy, `spec: {targetRefs: [{group: "", kind: Service, name: a}], sessionPersistence: {sessionName: a}}`), "spec.sessionPersistence", sessionapi.Release16},
	} {
		t.Run(name, func(t *testing.T) {
			objects, rep := compilertest.TryAdmit(t, c.options, c.document)
			if problems := rep.Errors(false); problems != nil {
				t.Fatal(problems)
			}
			all := map[string]*sessionapi.InlineSession{}
			for _, o := range objects.Routes {
				all = o.Sessions
				if len(o.Value.Spec.Rules) > 0 && o.Value.Spec.Rules[len(o.Value.Spec.Rules)-1].SessionPersistence != nil {
					t.Error("it is left in the route")
				}
			}
			for _, o := range objects.Backends {
				all = o.Sessions
			}
			for _, o := range objects.TrafficPolicies {
				all = o.Sessions
			}
			if len(all) != 1 || all[c.path] == nil || all[c.path].Release != c.release {
				t.Errorf("got %v, want one of release %q at %s", all, c.release, c.path)
			}
		})
	}
}

// TestRulesOfTwoReleases admits a document by the CRDs of each release that its rules show.
//
// requirements: S18, S19
func TestRulesOfTwoReleases(t *testing.T) {
	objects := compilertest.Admit(t, document(httpRoute, "spec: {rules: [{sessionPersistence: {sessionName: a}}, {sessionPersistence: {header: {name: b}, type: Header}}, {}]}"))
	sessions := objects.Routes[0].Sessions
	old, young := sessions["spec.rules[0].sessionPersistence"], sessions["spec.rules[1].sessionPersistence"]
	if len(sessions) != 2 || old == nil || young == nil || old.Release != sessionapi.Release16 || young.Release != sessionapi.Release17 {
		t.Errorf("got %v", sessions)
	}
}

// TestInlineSessionsThatAreRefused holds what the CRDs of the release, or both releases together, do not allow.
//
// requirements: S19, S21
func TestInlineSessionsThatAreRefused(t *testing.T) {
	const at = "spec.rules[0].sessionPersistence"
	checkRefusals(t, resource.Options{}, map[string]refusal{
		"fields of both releases":            {ruleWith("sessionName: a, cookie: {name: b}"), []string{at + ".cookie: Forbidden: may not be set together with sessionName"}},
		"what the CRD of 1.6 forbids":        {ruleWith("sessionName: a, cookieConfig: {lifetimeType: Permanent}"), []string{at + ": Invalid value: AbsoluteTimeout must be specified when cookie lifetimeType is Permanent"}},
		"what the CRD of 1.7 forbids":        {ruleWith("header: {}, type: Header"), []string{at + ".header.name: Required value"}},
		"an idleTimeout that is no duration": {ruleWith("sessionName: a, idleTimeout: soon"), []string{at + `.idleTimeout: Invalid value: "soon"`}},
		"an idleTimeout that is no text":     {ruleWith("sessionName: a, idleTimeout: 7"), []string{at + ".idleTimeout: Invalid value: 7: must be a string"}},
		"an unknown field":                   {ruleWith("sessionName: a, color: red"), []string{at + ".color: "}},
		"no mapping":                         {document(httpRoute, "spec: {rules: [{sessionPersistence: a}]}"), []string{at + ": Invalid value"}},
		"rules that are none":                {document(httpRoute, "spec: {rules: [a]}"), []string{"spec.rules[0]: Invalid value"}},
	})
}

// TestReleaseByTheOption judges a block that shows no release by the CRDs of the one that the option names.
//
// requirements: S18
func TestReleaseByTheOption(t *testing.T) {
	for release, want := range map[sessionapi.APIRelease][]string{
		sessionapi.Unstated: nil, sessionapi.Release16: nil,
		sessionapi.Release17: {"spec.rules[0].sessionPersistence: Invalid value: cookie must be specified for Cookie type"},
	} {
		checkRefusal(t, resource.Options{Release: release}, refusal{ruleWith("absoluteTimeout: 1h"), want})
	}
}

// TestWhatServersRefuse warns of what is read in a session and the API server of a release, the option's or the document's, does not take.
//
// requirements: S20, S21
func TestWhatServersRefuse(t *testing.T) {
	const at = "spec.rules[0].sessionPersistence"
	refused := func(path, release string) string {
		return path + ": is no field of Gateway API " + release + ": its API server refuses"
	}
	ofBoth := document(httpRoute, "spec: {rules: [{sessionPersistence: {sessionName: a, idleTimeout: 1h}}, {sessionPersistence: {cookie: {name: a}}}]}")
	for name, c := range map[string]struct {
		release  sessionapi.APIRelease
		document string
		want     []string
	}{
		"a field of 1.7 on 1.6":  {sessionapi.Release16, ruleWith("cookie: {name: a}"), []string{refused(at+".cookie", "1.6")}},
		"a field of 1.7 on 1.7":  {sessionapi.Release17, ruleWith("cookie: {name: a}"), nil},
		"a field of 1.7, unsaid": {sessionapi.Unstated, ruleWith("cookie: {name: a}"), nil},
		"a field of 1.6 on 1.6":  {sessionapi.Release16, ruleWith("sessionName: a"), nil},
		"a field of 1.6, unsaid": {sessionapi.Unstated, ruleWith("sessionName: a"), nil},
		"a field of 1.6 on 1.7": {sessionapi.Release17, ruleWith("sessionName: a"), []string{
			at + ": the API server of Gateway API 1.7 refuses the HTTPRoute: Invalid value: cookie must be specified for Cookie type", refused(at+".sessionName", "1.7"),
		}},
		"an idleTimeout on 1.6":      {sessionapi.Release16, ruleWith("idleTimeout: 1h"), []string{refused(at+".idleTimeout", "1.6")}},
		"an idleTimeout, unsaid":     {sessionapi.Unstated, ruleWith("idleTimeout: 1h"), []string{"; write it in a SessionPersistencePolicy"}},
		"rules of two releases, 1.6": {sessionapi.Release16, ofBoth, []string{refused(at+".idleTimeout", "1.6"), refused("spec.rules[1].sessionPersistence.cookie", "1.6")}},
		"rules of two releases, unsaid": {sessionapi.Unstated, ofBoth, []string{
			at + ": the API server of Gateway API 1.7 refuses", refused(at+".idleTimeout", "1.7"), refused(at+".sessionName", "1.7"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			rep := reportOf(t, resource.Options{Release: c.release}, c.document)
			compilertest.CheckProblems(t, rep.Errors(false))
			compilertest.CheckProblems(t, rep.Warnings(), c.want...)
		})
	}
}
