package kubernetes

import (
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/limpet-proxy/limpet/internal/keyfile"
)

// TestRotationAwaitsSessions: a process that begins when a fresh key is due does not put one in before it knows for how long sessions go on
// without a request: the key of before would verify for less.
func TestRotationAwaitsSessions(t *testing.T) {
	const day = 24 * time.Hour
	text, err := keyfile.Marshal(keyfile.NewRing("first"))
	if err != nil {
		t.Fatal(err)
	}
	secrets, now := fakeSecrets(), time.Now()
	secret, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "keys", CreationTimestamp: metav1.NewTime(now.Add(-40 * day))},
		Data:       map[string][]byte{keyfile.RingName: text},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	isServed := false
	k := &Keyring{
		Name: "keys", Log: slog.New(slog.DiscardHandler), Changed: func() {}, Every: 30 * day,
		Overlap: func() (time.Duration, bool) {
			if !isServed {
				return 0, false
			}
			return 90 * day, true
		},
	}
	if err := k.take(secret); err != nil {
		t.Fatal(err)
	}
	again, err := k.rotateOnce(t.Context(), secrets, now)
	if err != nil || !again.After(now) || again.After(now.Add(10*time.Second)) || len(k.Ring().Keys) != 1 {
		t.Errorf("before anything is served there are %d keys, and it is looked at again at %v: %v", len(k.Ring().Keys), again, err)
	}
	isServed = true
	if _, err := k.rotateOnce(t.Context(), secrets, again); err != nil || len(k.Ring().Keys) != 2 {
		t.Fatalf("then there are %d keys: %v", len(k.Ring().Keys), err)
	}
	if ends := time.Unix(int64(k.Ring().Keys[1].NotAfter), 0); ends.Before(again.Add(90 * day)) {
		t.Errorf("the first key verifies until %v", ends)
	}
}
