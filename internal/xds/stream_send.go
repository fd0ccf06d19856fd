package xds

import (
	"time"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/proto"
)

// sendNext sends all that can be sent now, and says what is new of the client.
func (one *stream) sendNext() error {
	latest, changed := one.inbox.take()
	if latest != nil {
		one.client.see(latest, changed)
	}
	now, isWaiting := time.Now(), one.client.isWaiting()
	one.client.kept = one.server.kept.Load()
	if len(one.outgoing) == 0 {
		one.outgoing = one.client.next(now)
	}
	sends := false
	for ; len(one.outgoing) > 0; one.outgoing = one.outgoing[1:] {
		message := one.outgoing[0]
		if !one.owe(message) {
			break
		}
		if err := one.to.Send(message); err != nil {
			return err
		}
		one.countPush(message)
		sends = true
	}
	if latest != nil && sends && !isWaiting && latest.Since.After(one.client.connected) {
		one.server.options.Metrics.own.Observe(time.Since(latest.Since).Seconds())
	}
	one.publish(now)
	return nil
}

// checkAgain tells when it is looked again whether there is room for a message that waits; never where none does.
func (one *stream) checkAgain() <-chan time.Time {
	if len(one.outgoing) == 0 {
		return nil
	}
	return time.After(100 * time.Millisecond)
}

// owe reckons a message until it is answered; false if there is no room for it now.
func (one *stream) owe(message *discoveryv3.DeltaDiscoveryResponse) bool {
	size := proto.Size(message)
	if size <= streamCost {
		return true
	}
	one.owed[message.GetNonce()] = size
	if one.reckon(one.cost()) {
		return true
	}
	delete(one.owed, message.GetNonce())
	return false
}
