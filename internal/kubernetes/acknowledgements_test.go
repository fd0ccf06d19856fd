package kubernetes

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

// TestAcknowledgements: a replica reads what the Envoys of another one have acknowledged, changes and the other's end included, and believes
// a replica no longer that has gone without a word.
func TestAcknowledgements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		leases := fake.NewClientset().CoordinationV1().Leases("limpet-system")
		held, changes := map[string][]string{"shop/edge": {"0a"}}, 0
		teller := newAcknowledgements(leases, "b-1", func() map[string][]string { return held }, nil, slog.New(slog.DiscardHandler))
		reader := newAcknowledgements(leases, "a-1", func() map[string][]string { return nil }, func() { changes++ }, slog.New(slog.DiscardHandler))
		reading, stopReading := context.WithCancel(t.Context())
		telling, stopTelling := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go reader.Follow(reading)
		go func() {
			defer close(ended)
			teller.Publish(telling)
		}()
		is := func(what string, after time.Duration, want map[string][]string, wantChanges int) {
			t.Helper()
			time.Sleep(after)
			synctest.Wait()
			if got := reader.Others(); !maps.EqualFunc(got, want, slices.Equal) || changes != wantChanges {
				t.Errorf("%s: %v after %d changes, want %v after %d", what, got, changes, want, wantChanges)
			}
		}
		is("an Envoy is there", readAcknowledgements, map[string][]string{"shop/edge": {"0a"}}, 1)
		is("it stays for an hour", time.Hour, map[string][]string{"shop/edge": {"0a"}}, 1)
		held = map[string][]string{"shop/edge": {"0b"}, "shop/side": {"0c"}}
		teller.Wake()
		is("it takes other listeners, and another comes", tellAcknowledgements+readAcknowledgements, held, 2)
		stopTelling()
		<-ended
		is("its replica ends", readAcknowledgements, nil, 3)

		lost := newAcknowledgements(leases, "c-1", func() map[string][]string { return held }, nil, slog.New(slog.DiscardHandler))
		if err := lost.write(t.Context()); err != nil {
			t.Fatal(err)
		}
		is("a replica is there", readAcknowledgements, held, 4)
		is("and is killed", staleAcknowledgements, nil, 5)
		is("its Lease goes", 10*staleAcknowledgements, nil, 5)
		if left, err := leases.List(t.Context(), metav1.ListOptions{}); err != nil || len(left.Items) > 0 {
			t.Errorf("left: %v, %v", left.Items, err)
		}
		stopReading()
	})
}
