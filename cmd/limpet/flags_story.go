package main

import (
	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
)

// storyFlags say what proxies tell of single requests' sessions.
type storyFlags struct {
	accessLog, digest, tickets bool
}

func (s *storyFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&s.accessLog, "access-log", false,
		"have Envoy write an access log, JSON on standard output, with each\nrequest's session: outcome, policy, age, host, why it moved")
	f.BoolVar(&s.digest, "access-log-sessions", false,
		"with --access-log: a keyed digest of the session's id in each line,\nthe same for all of a session")
	f.BoolVar(&s.tickets, "debug-tickets", false,
		"answer requests that have a ticket of 'limpet ticket' with what\nbecame of their session")
}

// check refuses what would have no effect.
func (s *storyFlags) check() error {
	if s.digest && !s.accessLog {
		return usagef("--access-log-sessions: only with --access-log")
	}
	return nil
}

// set puts the flags into a compilation's options.
func (s *storyFlags) set(o *compiler.Options) {
	o.AccessLog, o.SessionDigest, o.DebugTickets = s.accessLog, s.digest, s.tickets
}
