package resource

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/compiler/read"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
)

// Documents that are said to be admitted have durations of GEP-2257 all the same. Go reads more than that.
func TestUnverifiedDurations(t *testing.T) {
	const route = `{apiVersion: gateway.networking.k8s.io/v1, kind: HTTPRoute, metadata: {name: r}, spec: {rules: [{%s}]}}`
	const policy = `{apiVersion: gateway.networking.x-k8s.io/v1alpha1, kind: XBackendTrafficPolicy, metadata: {name: p}, ` +
		`spec: {targetRefs: [{group: "", kind: Service, name: s}], retryConstraint: {%s}}}`
	for path, document := range map[string]string{
		"spec.rules[0].timeouts.request":             fmt.Sprintf(route, `timeouts: {request: %q}`),
		"spec.rules[0].timeouts.backendRequest":      fmt.Sprintf(route, `timeouts: {backendRequest: %q}`),
		"spec.rules[0].retry.backoff":                fmt.Sprintf(route, `retry: {backoff: %q}`),
		"spec.retryConstraint.budget.interval":       fmt.Sprintf(policy, `budget: {interval: %q}`),
		"spec.retryConstraint.minRetryRate.interval": fmt.Sprintf(policy, `minRetryRate: {interval: %q}`),
	} {
		for duration, good := range map[string]bool{"1h": true, "1m250ms": true, "1.5m": false, "+1h": false, "1us": false, "": false} {
			rep := &report.Report{}
			sources := []read.Source{{Name: "a.yaml", Data: fmt.Appendf(nil, document, duration)}}
			if _, err := Admit(sources, Options{AssumeAdmitted: true}, nil, rep); err != nil {
				t.Fatal(err)
			}
			problems := rep.Errors(false)
			if good && problems != nil || !good && (len(problems) != 1 || problems[0].Path != path ||
				!strings.Contains(problems[0].Message, "must be a duration")) {
				t.Errorf("%s: %q: got %v", path, duration, problems)
			}
		}
	}
}
