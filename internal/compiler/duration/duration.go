// Package duration reads the durations of Gateway API's objects, which are GEP-2257's and so not all that Go reads.
package duration

import (
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Parse reads GEP-2257 text.
func Parse(text string) (time.Duration, error) {
	milliseconds, err := policyconfig.ParseMilliseconds(text)
	return time.Duration(milliseconds) * time.Millisecond, err
}
