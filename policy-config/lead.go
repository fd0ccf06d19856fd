package policyconfig

import (
	"errors"
	"strconv"
	"strings"
)

// Lead is an item of Policy.Leads: which backend a cluster leads to, and what leads a request there.
type Lead struct {
	// Cluster is the name of Envoy's cluster.
	Cluster string
	// Backend is the backend's tag, which tokens carry. Rule is that of the split, so that no rule's requests meet another's routes; 0 where
	// the rule is none, but shares its sessions with one.
	Backend, Rule uint32
}

// tagDigits is the length of a tag of 32 bits, in hexadecimal digits.
const tagDigits = 8

var errLead = errors.New(`must be the name of a cluster and the tag of a backend, of 8 hexadecimal digits in lower case, in a split with the ` +
	`rule's behind it, such as "shop/rule/0/backend/1 0a1b2c3d4e5f6071"`)

// Value is that of the header BackendHeader, which routes to the backend match; empty for none.
func (l Lead) Value() string {
	if l.Rule == 0 {
		return ""
	}
	return hexTag(l.Backend) + hexTag(l.Rule)
}

// String is the item's text.
func (l Lead) String() string {
	if l.Rule == 0 {
		return l.Cluster + " " + hexTag(l.Backend)
	}
	return l.Cluster + " " + l.Value()
}

func hexTag(tag uint32) string {
	text := strconv.FormatUint(uint64(tag), 16)
	return strings.Repeat("0", tagDigits-len(text)) + text
}

// ParseLead reads an item of Policy.Leads.
func ParseLead(s string) (l Lead, err error) {
	at := strings.LastIndexByte(s, ' ')
	if at < 1 {
		return Lead{}, errLead
	}
	l.Cluster = s[:at]
	switch tags := s[at+1:]; len(tags) {
	case tagDigits:
		l.Backend, err = parseTag(tags)
	case 2 * tagDigits:
		l.Backend, err = parseTag(tags[:tagDigits])
		if err == nil {
			l.Rule, err = parseTag(tags[tagDigits:])
		}
	default:
		err = errLead
	}
	if err != nil {
		return Lead{}, err
	}
	return l, checkEnvoyName(l.Cluster)
}

// parseTag reads a tag, which is never 0.
func parseTag(s string) (uint32, error) {
	tag, err := strconv.ParseUint(s, 16, 32)
	if err != nil || tag == 0 || strings.Trim(s, "0123456789abcdef") != "" {
		return 0, errLead
	}
	return uint32(tag), nil
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
