// Package sessionpersistence has conformance tests of Gateway API's session persistence (GEP-1619), which the official
// suite lacks: suite.ConformanceTest values as upstream's are, which any implementation runs beside those.
//
//	options.ManifestFS = append(options.ManifestFS, sessionpersistence.Manifests)
//	options.SupportedFeatures = append(options.SupportedFeatures, sessionpersistence.SupportCookie)
//	options.ConformanceProfiles = append(options.ConformanceProfiles, sessionpersistence.ProfileName)
//	s.Run(t, sessionpersistence.Tests(sessionpersistence.InRule))
//
// Gateway API has had two shapes of it, which disagree about what a session means: Place says which one is tested. Each
// test asks for a MUST of the GEP, or for a row of its table of planned tests ("Conformance Details"); what it leaves
// to implementations is not asked.
package sessionpersistence

import (
	"embed"

	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/gateway-api/conformance/utils/suite"
	"sigs.k8s.io/gateway-api/pkg/features"
)

// Manifests has the tests' objects, in a folder for each Place.
//
//go:embed rule backend
var Manifests embed.FS

// Place is where sessionPersistence is written.
type Place string

const (
	// InRule is a rule of an HTTPRoute or GRPCRoute, as in Gateway API up to 1.6: the session decides over the weights,
	// and belongs to the rule alone.
	InRule Place = "rule"
	// InBackend is an XBackend, as from Gateway API 1.7 on: the weights decide over the session, which each backend has of
	// its own.
	InBackend Place = "backend"
)

// The features are named after what an implementation can do and not after where it is written, so that they stay what
// they are when the API moves. All are extended.
const (
	// SupportCookie is a session in a cookie that ends with the browser.
	SupportCookie features.FeatureName = "SessionPersistenceCookie"
	// SupportCookiePermanentLifetime is a session in a cookie with an end.
	SupportCookiePermanentLifetime features.FeatureName = "SessionPersistenceCookiePermanentLifetime"
	// SupportCookieAbsoluteTimeout is an end of the session that its cookie does not tell the client.
	SupportCookieAbsoluteTimeout features.FeatureName = "SessionPersistenceCookieAbsoluteTimeout"
	// SupportHeader is a session in a header.
	SupportHeader features.FeatureName = "SessionPersistenceHeader"
)

// ProfileName names the profile in reports.
const ProfileName suite.ConformanceProfileName = "GATEWAY-SESSION-PERSISTENCE"

// Profile has all of the features, and of Gateway API's own those that the tests begin with.
var Profile = suite.ConformanceProfile{
	Name:         ProfileName,
	CoreFeatures: sets.New(features.SupportGateway, features.SupportHTTPRoute),
	ExtendedFeatures: sets.New(
		features.SupportGRPCRoute, SupportCookie, SupportCookiePermanentLifetime, SupportCookieAbsoluteTimeout, SupportHeader,
	),
}

func init() { suite.RegisterConformanceProfile(Profile) }

// Tests gives the tests of session persistence that is written in a place.
func Tests(place Place) []suite.ConformanceTest {
	all := []suite.ConformanceTest{}
	for _, kind := range []*routeKind{&httpRoute, &grpcRoute} {
		for _, c := range cases {
			if c.only == "" || c.only == place && kind == &httpRoute {
				all = append(all, newTest(place, kind, c))
			}
		}
	}
	return all
}

// newTest gives the test of a case for routes of a kind.
func newTest(place Place, kind *routeKind, c testCase) suite.ConformanceTest {
	name := "SessionPersistence" + c.name
	if place == InBackend {
		name = "XBackend" + name
	}
	return suite.ConformanceTest{
		ShortName:   kind.name + name,
		Description: kind.name + ": " + c.description,
		Features:    []features.FeatureName{features.SupportGateway, kind.feature, c.feature},
		Manifests:   []string{string(place) + "/" + kind.file + "-" + c.file + ".yaml"},
		Test:        c.run(place, kind),
	}
}
