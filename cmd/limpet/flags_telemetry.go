package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/limpet-proxy/limpet/compiler"
)

// telemetryFlags say what proxies tell of single requests' sessions.
type telemetryFlags struct {
	accessLog, tickets bool
	fields             []string
	digest             bool                   // what fields says
	logged             compiler.LoggedHeaders // of headers, the same
	others             bool                   // ProxyConfigs may turn logs on
}

func (s *telemetryFlags) register(f *pflag.FlagSet) {
	f.BoolVar(
		&s.accessLog,
		"access-log",
		false,
		"have Envoy write an access log, JSON on standard output, with each\nrequest's session: outcome, policy, age, "+
			"host, why it moved",
	)
	f.StringSliceVar(&s.fields, "access-log-fields", nil,
		"with --access-log: more in each line, `FIELDS` with commas between them:\n"+
			"session for a keyed digest of the session's id, the same for all of a session,\n"+
			"request:NAME and response:NAME for headers that have no credentials, cookies or sessions")
	f.BoolVar(&s.tickets, "debug-tickets", false,
		"answer requests that have a ticket of 'limpet ticket' with what\nbecame of their session")
}

// checkFlags refuses what would have no effect.
func (s *telemetryFlags) checkFlags() error {
	if len(s.fields) > 0 && !s.accessLog && !s.others {
		return usagef("--access-log-fields: only with --access-log, or --manage-proxies of limpet serve")
	}
	if err := s.parseFields(); err != nil {
		return err
	}
	if s.digest && !s.accessLog {
		return usagef("--access-log-fields session: only with --access-log")
	}
	return nil
}

// parseFields reads --access-log-fields.
func (s *telemetryFlags) parseFields() error {
	s.digest, s.logged = false, compiler.LoggedHeaders{}
	for _, field := range s.fields {
		of, name, isHeader := strings.Cut(field, ":")
		if of == "session" && !isHeader {
			s.digest = true
			continue
		}
		switch of {
		case "request":
			s.logged.Request = append(s.logged.Request, name)
		case "response":
			s.logged.Response = append(s.logged.Response, name)
		default:
			return usagef("--access-log-fields %q: must be session, request:NAME or response:NAME", field)
		}
		if err := compiler.CheckLoggedHeader(name); err != nil {
			return usagef("--access-log-fields %q: the header %w", field, err)
		}
	}
	return nil
}

// set puts the flags into a compilation's options.
func (s *telemetryFlags) set(o *compiler.Options) {
	o.AccessLog, o.SessionDigest, o.DebugTickets, o.LoggedHeaders = s.accessLog, s.digest, s.tickets, s.logged
}
