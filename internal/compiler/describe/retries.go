package describe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/lower"
	"github.com/limpet-proxy/limpet/internal/compiler/precedence"
)

// inRule is the place of what stands in a rule and applies to nothing else.
const inRule = "in the rule"

// describeRetries shows what a rule says of timeouts and retries (S73), and what of that has no effect.
func (d *describer) describeRetries(s *lower.BackendTraffic, trafficPath precedence.TrafficPath) Retries {
	t := Retries{TrafficPath: newTrafficPath(trafficPath, s.Rule), Notes: s.Retries.Notes}
	rule := &s.Route.Value.Spec.Rules[s.Rule]
	written := func(name, value string) {
		path := fmt.Sprintf("spec.rules[%d].%s", s.Rule, name)
		t.Fields = append(t.Fields, Field{Name: name, Origin: d.newOriginAt(value, s.Route.Ref(), inRule, path)})
	}
	if times := rule.Timeouts; times != nil && times.Request != nil {
		written("timeouts.request", string(*times.Request))
	}
	if times := rule.Timeouts; times != nil && times.BackendRequest != nil {
		written("timeouts.backendRequest", string(*times.BackendRequest))
	}
	if !s.Retries.Effective {
		return t
	}
	if codes := rule.Retry.Codes; len(codes) > 0 {
		written("retry.codes", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(codes)), ", "), "[]"))
	}
	if attempts := rule.Retry.Attempts; attempts != nil {
		written("retry.attempts", strconv.Itoa(*attempts))
	} else {
		t.Fields = append(t.Fields, Field{Name: "retry.attempts", Origin: Origin{
			Value: strconv.Itoa(ir.DefaultAttempts),
			Block: builtIn,
		}})
	}
	if backoff := rule.Retry.Backoff; backoff != nil {
		written("retry.backoff", string(*backoff))
	}
	return t
}
