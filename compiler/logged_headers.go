package compiler

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// LoggedHeaders are the headers of requests and responses whose values are in each line of an access log.
type LoggedHeaders = envoy.LoggedHeaders

// secretHeaders are the headers that have credentials, cookies or tickets.
var secretHeaders = []string{
	"authorization", "proxy-authorization", "www-authenticate", "proxy-authenticate", "authentication-info",
	"proxy-authentication-info",
	"cookie", "cookie2", "set-cookie", "set-cookie2", policyconfig.TicketHeader,
	// what proxies that log users in pass on, and what services and clouds take
	"x-forwarded-access-token", "x-auth-request-access-token", "x-forwarded-id-token", "x-auth-token", "x-access-token",
	"x-api-key", "api-key", "x-goog-api-key", "x-amz-security-token",
}

// loggedName matches names that Envoy's format strings take for nothing but a name.
var loggedName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// maxLogged is how many there may be of requests, and of responses.
const maxLogged = 16

// CheckLoggedHeader says why a header may not be in an access log; nil if it may. A session's own header is not known
// here: a rule whose session header is logged has no session (S78).
func CheckLoggedHeader(name string) error {
	lower := strings.ToLower(name)
	switch {
	case !loggedName.MatchString(name):
		return errors.New("must be the name of a header, of 1 to 64 letters, digits, dashes and underscores")
	case slices.Contains(secretHeaders, lower):
		return errors.New("has credentials, cookies or tickets, which whoever reads the log could use")
	case strings.HasPrefix(lower, policyconfig.DefaultPinHeader):
		return errors.New("is limpet's own")
	}
	return nil
}

func checkLogged(h LoggedHeaders) error {
	if len(h.Request) > maxLogged || len(h.Response) > maxLogged {
		return errors.New("access log headers: Too many: must have at most 16 of requests and 16 of responses")
	}
	for _, name := range slices.Concat(h.Request, h.Response) {
		if err := CheckLoggedHeader(name); err != nil {
			return fmt.Errorf("access log headers: Invalid value: %q: %w", name, err)
		}
	}
	return nil
}
