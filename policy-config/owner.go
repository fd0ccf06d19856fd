package policyconfig

import (
	"errors"
	"strings"
)

// Owner is an item of Policy.Owners: whose a host is.
type Owner struct {
	// Host is an IP address and a port, in canonical form.
	Host string
	// Tag is that of a pod's uid or, if Named, of its stable name.
	Tag   uint64
	Named bool
}

// The words between a host and a tag.
const (
	ownerPod  = " pod "
	ownerName = " name "
)

var errOwner = errors.New(
	`must be an IP address and a port in canonical form, "pod" or "name", and a tag of 16 hexadecimal ` +
		`digits in lower case, such as "10.0.0.1:8080 pod 0102030405060709"`,
)

// String is the item's text.
func (o Owner) String() string {
	word := ownerPod
	if o.Named {
		word = ownerName
	}
	return o.Host + word + formatHex(o.Tag, idDigits)
}

// ParseOwner reads an item of Policy.Owners.
func ParseOwner(s string) (o Owner, err error) {
	host, tag, found := strings.Cut(s, ownerPod)
	if !found {
		host, tag, o.Named = strings.Cut(s, ownerName)
	}
	if o.Tag, found = parseHex(tag, idDigits); !found || !isAddress(host) {
		return Owner{}, errOwner
	}
	o.Host = host
	return o, nil
}

func checkOwner(s string) error {
	_, err := ParseOwner(s)
	return err
}
