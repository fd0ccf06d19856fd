package livereload

import (
	"encoding/json"
	"time"
)

// sameTime is how far two processes may be apart that see the same.
const sameTime = 10 * time.Second

// SameOwner tells whether what two processes remember of an address is the same.
func SameOwner(a, b json.RawMessage) bool {
	return isSame(a, b, func(a, b rememberedOwner) bool {
		return a.UID == b.UID && a.Reused == b.Reused && a.Live == b.Live && a.Gone.IsZero() == b.Gone.IsZero()
	})
}

// SameDraining tells whether two processes have seen a host terminate at about the same time.
func SameDraining(a, b json.RawMessage) bool {
	return isSame(a, b, func(a, b time.Time) bool { return a.Sub(b).Abs() <= sameTime })
}

// SameUnselected tells whether two processes have seen a Service without a pod at about the same time.
func SameUnselected(a, b json.RawMessage) bool {
	return isSame(a, b, func(a, b keptHost) bool { return a.Pod == b.Pod && a.Left.Sub(b.Left).Abs() <= sameTime })
}

func isSame[V any](a, b json.RawMessage, compare func(a, b V) bool) bool {
	var one, other V
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && compare(one, other)
}
