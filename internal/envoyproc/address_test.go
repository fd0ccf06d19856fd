package envoyproc

import (
	"maps"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/limpet-proxy/limpet/internal/freeport"
)

// TestUnusable names every address that can't be had, and why; it leaves those that can free.
func TestUnusable(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := freeport.Find()
	if err != nil {
		t.Fatal(err)
	}
	const advice = "change the Gateway's port or address"
	var addresses []netip.AddrPort
	for _, at := range []string{
		net.JoinHostPort("127.0.0.1", strconv.Itoa(free)), taken.Addr().String(), "192.0.2.1:80", // the last of RFC 5737, which no machine has
	} {
		addresses = append(addresses, netip.MustParseAddrPort(at))
	}
	for range 2 { // trying leaves an address free
		want := map[netip.AddrPort]string{
			addresses[1]: taken.Addr().String() + " is in use by another process; stop it, or " + advice,
			addresses[2]: "192.0.2.1:80 is not an address of this machine; " + advice,
		}
		if unusable := FindUnusable(addresses, Closing); !maps.Equal(unusable, want) {
			t.Errorf("unusable: %v, want %v", unusable, want)
		}
	}
	if err := CheckAdminFree(taken.Addr().String()); err == nil || !strings.HasSuffix(err.Error(), "put the admin interface elsewhere with --admin") {
		t.Errorf("got %v for the admin interface", err)
	}
}
