package envoyproc

import (
	"net"
	"net/netip"
	"strings"
	"testing"
)

// TestCheckFree names every address that can't be had, and why; it leaves those that can free.
func TestCheckFree(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free.Close()
	const advice = "change the Gateway's port or address"
	var addresses []netip.AddrPort
	for _, at := range []string{free.Addr().String(), taken.Addr().String(), "192.0.2.1:80"} { // the last of RFC 5737, which no machine has
		addresses = append(addresses, netip.MustParseAddrPort(at))
	}
	err = CheckFree(addresses)
	want := taken.Addr().String() + " is in use by another process; stop it, or " + advice + "\n" +
		"192.0.2.1:80 is not an address of this machine; " + advice
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	unusable := FindUnusable(addresses)
	if unknown := unusable[netip.MustParseAddrPort("192.0.2.1:80")]; len(unusable) != 2 ||
		unknown != "192.0.2.1:80 is not an address of this machine; "+advice {
		t.Errorf("unusable: %v", unusable)
	}
	for range 2 {
		if err := CheckFree(addresses[:1]); err != nil {
			t.Error(err)
		}
	}
	if err := CheckAdminFree(taken.Addr().String()); err == nil || !strings.HasSuffix(err.Error(), "put the admin interface elsewhere with --admin") {
		t.Errorf("got %v for the admin interface", err)
	}
}
