package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
)

// storyFlags say what proxies tell of single requests' sessions.
type storyFlags struct {
	accessLog, digest, tickets bool
	headers                    []string
	logged                     compiler.LoggedHeaders // what headers says
}

func (s *storyFlags) register(f *pflag.FlagSet) {
	f.BoolVar(&s.accessLog, "access-log", false,
		"have Envoy write an access log, JSON on standard output, with each\nrequest's session: outcome, policy, age, host, why it moved")
	f.BoolVar(&s.digest, "access-log-sessions", false,
		"with --access-log: a keyed digest of the session's id in each line,\nthe same for all of a session")
	f.StringSliceVar(&s.headers, "access-log-headers", nil,
		"with --access-log: these headers in each line, as `request:NAME`\nor response:NAME; none with credentials, cookies or sessions")
	f.BoolVar(&s.tickets, "debug-tickets", false,
		"answer requests that have a ticket of 'limpet ticket' with what\nbecame of their session")
}

// check refuses what would have no effect.
func (s *storyFlags) check() error {
	if s.digest && !s.accessLog {
		return usagef("--access-log-sessions: only with --access-log")
	}
	if len(s.headers) > 0 && !s.accessLog {
		return usagef("--access-log-headers: only with --access-log")
	}
	return s.parseHeaders()
}

// parseHeaders reads --access-log-headers.
func (s *storyFlags) parseHeaders() error {
	s.logged = compiler.LoggedHeaders{}
	for _, header := range s.headers {
		of, name, _ := strings.Cut(header, ":")
		switch of {
		case "request":
			s.logged.Request = append(s.logged.Request, name)
		case "response":
			s.logged.Response = append(s.logged.Response, name)
		default:
			return usagef("--access-log-headers %q: must be request:NAME or response:NAME", header)
		}
		if err := compiler.CheckLoggedHeader(name); err != nil {
			return usagef("--access-log-headers %q: the header %w", header, err)
		}
	}
	return nil
}

// set puts the flags into a compilation's options.
func (s *storyFlags) set(o *compiler.Options) {
	o.AccessLog, o.SessionDigest, o.DebugTickets, o.LoggedHeaders = s.accessLog, s.digest, s.tickets, s.logged
}
