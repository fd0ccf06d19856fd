package policyconfig

import (
	"errors"
	"strings"
)

// Lead is an item of Policy.Leads: which backend a cluster leads to, and what leads a request there.
type Lead struct {
	// Cluster is the name of Envoy's cluster.
	Cluster string
	// Backend is the backend's tag, which tokens carry. Rule is that of the split, so that no rule's requests meet
	// another's routes; 0 where the rule is none, but shares its sessions with one.
	Backend, Rule uint32
}

var errLead = errors.New(
	`must be the name of a cluster and the tag of a backend, of 8 hexadecimal digits in lower case, ` +
		`in a split with the rule's behind it, such as "shop/rule/0/backend/1 0a1b2c3d4e5f6071"`,
)

// Value is that of the header BackendHeader, which routes to the backend match; empty for none.
func (l Lead) Value() string {
	if l.Rule == 0 {
		return ""
	}
	return formatHex(uint64(l.Backend), tagDigits) + formatHex(uint64(l.Rule), tagDigits)
}

// String is the item's text.
func (l Lead) String() string {
	if l.Rule == 0 {
		return l.Cluster + " " + formatHex(uint64(l.Backend), tagDigits)
	}
	return l.Cluster + " " + l.Value()
}

// ParseLead reads an item of Policy.Leads.
func ParseLead(s string) (Lead, error) {
	at := strings.LastIndexByte(s, ' ')
	if at < 1 {
		return Lead{}, errLead
	}
	tags, rule := s[at+1:], uint64(0)
	if len(tags) == 2*tagDigits {
		var is bool
		if rule, is = parseHex(tags[tagDigits:], tagDigits); !is {
			return Lead{}, errLead
		}
		tags = tags[:tagDigits]
	}
	backend, is := parseHex(tags, tagDigits)
	if !is {
		return Lead{}, errLead
	}
	return Lead{s[:at], uint32(backend), uint32(rule)}, checkEnvoyName(s[:at])
}

func checkLead(s string) error {
	_, err := ParseLead(s)
	return err
}

// leadCluster is what two items may not have in common.
func leadCluster(s string) string {
	l, _ := ParseLead(s)
	return l.Cluster
}
