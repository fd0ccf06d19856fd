package resource_test

import (
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/resource"
)

// TestUnknownFieldsNameTheRightOne holds that a field which another API has, or which stands elsewhere, leads to limpet's.
func TestUnknownFieldsNameTheRightOne(t *testing.T) {
	policy := func(spec string) string {
		return document(sessionPolicy, "spec: {targetRefs: [{kind: HTTPRoute, name: r}], "+spec+"}")
	}
	session := func(fields string) string {
		return document(httpRoute, "spec: {rules: [{sessionPersistence: {"+fields+"}}]}")
	}
	const at = "spec.rules[0].sessionPersistence."
	checkRefusals(t, resource.Options{}, map[string]refusal{
		"a cookie's name":          {policy("cookie: {name: a}"), []string{"spec.cookie.name: unknown field; did you mean spec.sessionName?"}},
		"a name":                   {policy("cookieName: a"), []string{"spec.cookieName: unknown field; did you mean spec.sessionName?"}},
		"an age":                   {policy("default: {cookie: {maxAge: 1h}}"), []string{"spec.default.cookie.maxAge: unknown field; did you mean spec.default.absoluteTimeout?"}},
		"a time to live":           {policy("ttl: 1h"), []string{"spec.ttl: unknown field; did you mean spec.absoluteTimeout?"}},
		"an attribute":             {policy("sameSite: Lax"), []string{"spec.sameSite: unknown field; did you mean spec.cookie.sameSite?"}},
		"Gateway API's own block":  {policy("sessionPersistence: {absoluteTimeout: 1h}"), []string{"spec.sessionPersistence: unknown field; write what is below it in its place"}},
		"a slip":                   {policy("absolutTimeout: 1h"), []string{"spec.absolutTimeout: unknown field; did you mean absoluteTimeout?"}},
		"a health check's path":    {document("limpet.dev/v1alpha1/LoadBalancerPolicy", "spec: {targetRefs: [{kind: Service, name: s}], healthCheck: {path: /}}"), []string{"spec.healthCheck.path: unknown field; did you mean spec.healthCheck.http.path?"}},
		"an attribute in a rule":   {session("cookie: {name: a, sameSite: Lax}"), []string{at + "cookie.sameSite: unknown field; write it in a SessionPersistencePolicy"}},
		"an idle timeout in 1.7's": {session("cookie: {name: a, idleTimeout: 1h}"), []string{at + "cookie.idleTimeout: unknown field; write it in a SessionPersistencePolicy"}},
		"a slip in a rule":         {session("sesionName: a"), []string{at + "sesionName: unknown field; did you mean sessionName?"}},
		"nothing like it":          {session("colour: blue"), []string{at + "colour: unknown field"}},
	})
}
