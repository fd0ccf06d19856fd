package xds

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// excess counts what goes beyond a limit, and is what its Envoy is told.
func (s *Server) excess(what, format string, values ...any) error {
	s.options.Metrics.excess.WithLabelValues(what).Inc()
	return status.Errorf(codes.ResourceExhausted, format, values...)
}

// refuse is the answer to a peer that gets nothing. Whoever may reach the server can be refused as often as it likes:
// all are counted, and few are told of.
func (s *Server) refuse(from *peer.Peer, why error) error {
	s.tellRefused(from.Addr.String(), why)
	s.options.Metrics.refused.Inc()
	if _, has := status.FromError(why); has {
		return why
	}
	return status.Error(codes.PermissionDenied, shorten(why.Error()))
}

func (s *Server) tellRefused(address string, why error) {
	if s.refusals.Allow() {
		s.options.Log.Refused(address, errors.New(shorten(why.Error())))
	}
}

// cost is what the stream costs, in bytes of memory.
func (one *stream) cost() int {
	cost := streamCost + one.client.requested
	for _, size := range one.owed {
		cost += size
	}
	return cost
}

// reckon has the stream cost so much of the budget; false if there is not so much.
func (one *stream) reckon(cost int) bool {
	is, going := one.server.budget.reckon(one, cost)
	for _, other := range going {
		one.server.tellRefused(other.status.Load().Address, other.excess())
		_ = other.caller.Close() // it may wait for an Envoy that takes nothing
	}
	return is
}

// excess is what is said to a stream for which there is no room.
func (one *stream) excess() error {
	return one.server.excess("memory", "the Envoys of namespace %s come to more than there is room for", one.namespace)
}
