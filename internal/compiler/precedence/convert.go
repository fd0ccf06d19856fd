package precedence

import (
	"errors"
	"slices"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// listOf returns a list that is written; nil for an empty one.
func listOf[T any](list *[]T) *[]T {
	if len(*list) == 0 {
		return nil
	}
	return list
}

var (
	errNoTime = errors.New("must be longer than 0s; leave it out for none")
	errEpoch  = errors.New("must be 0 to 4294967295")
)

func keepValue[T any](v T) (T, error) { return v, nil }

func convertInt(n int32) (int, error) { return int(n), nil }

func convertString[S ~string](v S) (string, error) { return string(v), nil }

func parseTime(t v1alpha1.Time) (policyconfig.Time, error) { return policyconfig.ParseTime(string(t)) }

func parseDuration(d v1alpha1.Duration) (policyconfig.Duration, error) {
	return policyconfig.ParseDuration(string(d))
}

func parsePositiveDuration(d v1alpha1.Duration) (policyconfig.Duration, error) {
	value, err := parseDuration(d)
	if err == nil && value == 0 {
		err = errNoTime
	}
	return value, err
}

func convertSeconds(n int64) (policyconfig.Duration, error) {
	switch {
	case n <= 0:
		return 0, errNoTime
	case n > int64(policyconfig.MaxDuration):
		return 0, errors.New("must be at most " + policyconfig.MaxDuration.String() + " in seconds")
	}
	return policyconfig.Duration(n), nil
}

func convertEpoch(n int64) (uint32, error) {
	if n < 0 || n > 1<<32-1 {
		return 0, errEpoch
	}
	return uint32(n), nil
}

func convertStrings[S ~string](list []S) ([]string, error) {
	all := make([]string, 0, len(list))
	for _, s := range list {
		all = append(all, string(s))
	}
	return slices.Clip(all), nil
}
