package policyconfig

import (
	"errors"
	"strings"
)

// reservedHeaders are names that mean something to HTTP, to Envoy or to browsers already, so that a session
// must neither be carried by them nor end on them. A name that ends in "-" stands for all that begin with it.
var reservedHeaders = []struct {
	why   string
	names []string
}{
	{"belongs to one connection (RFC 9110, section 7.6.1)", []string{
		"connection", "keep-alive", "proxy-", "te", "trailer", "transfer-encoding", "upgrade", "http2-settings",
	}},
	{"says what the message is (RFC 9110)", []string{
		"host", "content-", "expect", "range", "date", "age", "etag", "last-modified", "location", "retry-after", "if-",
		"accept", "accept-",
	}},
	{"carries credentials or cookies (RFC 9110, section 11; RFC 6265bis)", []string{
		"authorization", "www-authenticate", "authentication-info", "cookie", "set-cookie",
	}},
	{"is read by browsers and caches", []string{
		"access-control-", "cache-control", "expires", "origin", "pragma", "referer", "sec-", "strict-transport-security",
		"vary",
	}},
	{"is written by Envoy and other proxies", []string{
		"x-envoy-", "x-forwarded-", "x-request-id", "forwarded", "via", "server", "user-agent", ShardHeader,
	}},
	{"belongs to gRPC", []string{"grpc-"}},
}

// checkHeader is for header names that an operator chooses: RFC 9110 tokens (so no pseudo-header, which
// begins with a colon) that are not reserved.
func checkHeader(name string) error {
	if err := checkToken(name); err != nil {
		return err
	}
	for _, group := range reservedHeaders {
		for _, reserved := range group.names {
			if matchesReserved(name, reserved) {
				return errors.New("must not be a header that " + group.why)
			}
		}
	}
	return nil
}

func matchesReserved(name, reserved string) bool {
	if strings.HasSuffix(reserved, "-") && len(name) > len(reserved) {
		name = name[:len(reserved)]
	}
	return strings.EqualFold(name, reserved)
}

// checkPinHeader wants lower case on top, for so Envoy writes header names.
func checkPinHeader(name string) error {
	if err := checkHeader(name); err != nil {
		return err
	}
	if name != strings.ToLower(name) {
		return errLowerCase
	}
	return nil
}

// CheckSessionName says what is wrong with a session's name for one type, or nil: 1 to MaxSessionName
// characters, an RFC 9110 token, for headers not a reserved one.
func CheckSessionName(t Type, name string) error {
	if t == TypeHeader {
		return headerRule.fault(name)
	}
	return sessionRule.fault(name)
}
