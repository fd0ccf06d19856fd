package rig

import (
	"crypto/rand"
	"fmt"
	"time"

	policyconfig "github.com/limpet-proxy/limpet/policy-config"
	"github.com/limpet-proxy/limpet/token"
)

// The contestants whose policy asks for more: what a pinned request costs then.
const (
	LimpetVersion2  = "limpet-version-2"
	LimpetOwners    = "limpet-owners"
	LimpetNames     = "limpet-names"
	LimpetWithin    = "limpet-within"
	LimpetRevoked   = "limpet-revoked"
	LimpetEnvelope  = "limpet-envelope"
	LimpetCrossSite = "limpet-cross-site"
	LimpetMirrored  = "limpet-mirrored"
	LimpetLogged    = "limpet-logged"
	LimpetTickets   = "limpet-tickets"
)

// backendNames are those of the two Services of a split, as tokens call them.
var backendNames = []string{"default/b0:80", "default/b1:80"}

// options change limpet's policy.
var options = map[string]func(c *policyconfig.Config, hosts []string){
	LimpetVersion2: version2,
	LimpetOwners: func(c *policyconfig.Config, hosts []string) {
		version2(c, nil)
		for _, host := range hosts {
			c.Policies[0].Owners = append(c.Policies[0].Owners, policyconfig.Owner{Host: host, Tag: token.PodTag(host)}.String())
		}
	},
	LimpetNames: func(c *policyconfig.Config, hosts []string) {
		version2(c, nil)
		for _, host := range hosts {
			c.Policies[0].Owners = append(c.Policies[0].Owners, policyconfig.Owner{Host: host, Tag: token.NameTag(host), Named: true}.String())
		}
	},
	LimpetWithin: func(c *policyconfig.Config, _ []string) {
		one("within")(c)
		c.Policies[0].TokenVersion = 2
	},
	LimpetRevoked: func(c *policyconfig.Config, _ []string) { // the traffic's sessions are older, and on other hosts
		one("cart")(c)
		before := " before " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
		for i := range 64 {
			c.Policies[0].Revocation.Hosts = append(c.Policies[0].Revocation.Hosts, fmt.Sprintf("10.0.0.%d:8080", i)+before)
		}
	},
	LimpetEnvelope: func(c *policyconfig.Config, _ []string) {
		one("cart")(c)
		c.Policies[0].Envelope = true
	},
	LimpetCrossSite: func(c *policyconfig.Config, _ []string) {
		one("cart")(c)
		c.Policies[0].Cookie.CrossSite = true
	},
	LimpetMirrored: func(c *policyconfig.Config, _ []string) {
		one("cart")(c)
		c.Policies[0].Mirrored = true
	},
	LimpetLogged: func(c *policyconfig.Config, _ []string) {
		one("cart")(c)
		c.AccessLogFields = true
	},
	LimpetTickets: func(c *policyconfig.Config, _ []string) {
		one("cart")(c)
		c.DebugTickets = true
	},
}

func version2(c *policyconfig.Config, _ []string) {
	one("cart")(c)
	c.Policies[0].TokenVersion = 2
}

// MintParts makes a token of version 2 for a session on the backend of that index, with an id and more.
func MintParts(scope *token.Scope, hosts []string, index int, more func(p *token.Parts, host string, index int)) (string, error) {
	host, err := token.ParseHost(hosts[index])
	if err != nil {
		return "", err
	}
	sess := token.Session{Host: host, IssuedAt: time.Now().Unix(), LastSeen: time.Now().Unix(), Parts: token.Parts{ID: 1 + uint64(index)}}
	more(&sess.Parts, hosts[index], index)
	minting := token.Minting{Now: sess.IssuedAt}
	_, _ = rand.Read(minting.Nonce[:])
	text, err := scope.Append(nil, sess, minting)
	return string(text), err
}

// OptionParts is what tokens of a contestant have besides the session's id.
var OptionParts = map[string]func(p *token.Parts, host string, index int){
	LimpetVersion2: func(*token.Parts, string, int) {},
	LimpetOwners:   func(p *token.Parts, host string, _ int) { p.Owner = token.PodTag(host) },
	LimpetNames:    func(p *token.Parts, host string, _ int) { p.Owner, p.Named = token.NameTag(host), true },
	LimpetWithin:   func(p *token.Parts, _ string, index int) { p.Backend = token.BackendTag(backendNames[index]) },
}

// Wrap makes an envelope for a token, with what an application set.
func Wrap(scope *token.Scope, tok string) (string, error) {
	var e token.Envelope
	text, err := e.Append(nil, scope, tok, "; Path=/cart; HttpOnly", "5f0c2d9e4a514c1b9d0e2f6b1a7c3e48", time.Now().Unix(), token.MaxEnvelope)
	return string(text), err
}
