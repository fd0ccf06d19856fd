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
		"with --access-log and --token-version 2: a keyed digest of the\nsession's id in each line, the same for all of a session")
	f.BoolVar(&s.tickets, "debug-tickets", false,
		"answer requests that have a ticket of 'limpet ticket' with what\nbecame of their session")
}

// check refuses what would have no effect.
func (s *storyFlags) check(tokenVersion int) error {
	switch {
	case s.digest && !s.accessLog:
		return usagef("--access-log-sessions: only with --access-log")
	case s.digest && tokenVersion < 2:
		return usagef("--access-log-sessions: only with --token-version 2, whose tokens have an id of the session")
	}
	return nil
}

// set puts the flags into a compilation's options.
func (s *storyFlags) set(o *compiler.Options) {
	o.AccessLog, o.SessionDigest, o.DebugTickets = s.accessLog, s.digest, s.tickets
}
