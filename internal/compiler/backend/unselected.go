package backend

import (
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
)

// UnselectedSince is the annotation of an EndpointSlice whose endpoints are pods that the Service no longer selects: since
// when, as RFC 3339 has it. What watches pods writes such slices (S42).
const UnselectedSince = "limpet.dev/unselected-since"

// markUnselected marks an endpoint of a slice that is for such pods. None of them takes new sessions.
func markUnselected(e ir.Endpoint, s *endpointSlice) ir.Endpoint {
	if e.Unselected = readUnselected(s); e.Unselected != 0 {
		e.Draining = true
	}
	return e
}

// readUnselected is since when a slice's endpoints are no endpoints any more; 0 for those that are, and what is no time.
func readUnselected(s *endpointSlice) int64 {
	text := s.Value.Annotations[UnselectedSince]
	if text == "" {
		return 0
	}
	since, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return 0
	}
	return since.UnixNano()
}
