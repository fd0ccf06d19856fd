package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"sigs.k8s.io/yaml"

	"github.com/limpet-proxy/limpet/compiler"
	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// listening is one address that Envoy will listen on, and the advice for when it cannot.
type listening struct {
	address string
	advice  string
}

const listenerAdvice = "change the Gateway's port or address"

// listenerAddress is the address of a listener that Envoy discovers.
func listenerAddress(l envoy.Resource) listening {
	var of struct {
		Address socket `json:"address"`
	}
	_ = json.Unmarshal(l.JSON, &of) // it was made from a message
	return listening{of.Address.String(), listenerAdvice}
}

// socket is Envoy's config.core.v3.Address, as far as the compiler uses it.
type socket struct {
	SocketAddress struct {
		Address   string `json:"address"`
		PortValue int    `json:"port_value"`
	} `json:"socket_address"`
}

func (s socket) String() string {
	return net.JoinHostPort(s.SocketAddress.Address, strconv.Itoa(s.SocketAddress.PortValue))
}

// addressesIn reads the addresses out of an envoy.yaml.
func addressesIn(bootstrap []byte) ([]listening, error) {
	var b struct {
		Admin *struct {
			Address socket `json:"address"`
		} `json:"admin"`
		StaticResources struct {
			Listeners []struct {
				Address socket `json:"address"`
			} `json:"listeners"`
		} `json:"static_resources"`
	}
	if err := yaml.Unmarshal(bootstrap, &b); err != nil {
		return nil, fmt.Errorf("read the compiled %s: %w", compiler.EnvoyFile, err)
	}
	var found []listening
	for _, l := range b.StaticResources.Listeners {
		if l.Address.SocketAddress.PortValue > 0 { // others are inside Envoy
			found = append(found, listening{l.Address.String(), listenerAdvice})
		}
	}
	if b.Admin != nil {
		found = append(found, listening{b.Admin.Address.String(), "put the admin interface elsewhere with --admin"})
	}
	return found, nil
}

// checkFree tries every address for a moment. Envoy itself would say less, or nothing: its listeners
// share a port with another Envoy's, and each then gets some of the connections.
func checkFree(addresses []listening) error {
	var problems []error
	for _, a := range addresses {
		l, err := net.Listen("tcp", a.address)
		if err != nil {
			problems = append(problems, a.explain(err))
			continue
		}
		_ = l.Close()
	}
	return errors.Join(problems...)
}

// explain says what to do about an address on which listening failed.
func (l listening) explain(err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s is in use by another process; stop it, or %s", l.address, l.advice)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: no permission to listen there (ports below 1024 are root's); run as root, or %s", l.address, l.advice)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine; %s", l.address, l.advice)
	default:
		return fmt.Errorf("listen on %s: %w", l.address, err)
	}
}
