package kubernetes

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/limpet-proxy/limpet/internal/keyfile"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// Keyring is a key ring in a Secret. What is no ring changes nothing: the last good one stays.
type Keyring struct {
	Config          *rest.Config
	Namespace, Name string
	Log             *slog.Logger
	// Changed is called when another ring has come.
	Changed func()
	// Every is how long a key signs; 0 leaves the ring as it is. Overlap is the least time that it verifies after that,
	// and whether that is known yet: nothing rotates before.
	Every   time.Duration
	Overlap func() (longest time.Duration, known bool)

	lock   sync.Mutex
	ring   policyconfig.KeyRing
	secret *corev1.Secret // that has it
	fault  Fault
}

// Fault says why something is not in effect, and since when; nothing where it is.
type Fault struct {
	Words string
	Since time.Time
}

// lead is how long a fresh key is known before it signs: proxies that are away for longer learn it when they are back,
// and till then take the sessions that it began for none.
const lead = time.Hour

// How long to wait after a rotation that has failed, and while it is not known how long sessions are, which is for
// moments only.
const (
	rotateRetry = time.Minute
	rotatePoll  = time.Second
)

// Start reads the ring, which it makes if there is no such Secret, and follows it until ctx ends.
func (k *Keyring) Start(ctx context.Context) error {
	client, err := newClient(k.Config, corev1.SchemeGroupVersion)
	if err != nil {
		return err
	}
	secrets := secretsOf(client, k.Namespace)
	have, err := getOrMake(ctx, secrets, k.Name, "a key ring", k.Log, func() (map[string][]byte, error) {
		text, err := keyfile.Marshal(keyfile.NewRing(keyfile.ChooseID(policyconfig.KeyRing{}, time.Now())))
		return map[string][]byte{keyfile.RingName: text}, err
	})
	if err != nil {
		return fmt.Errorf("the key ring in Secret %s/%s: %w", k.Namespace, k.Name, err)
	}
	if err := k.take(have); err != nil {
		return err
	}
	if err := k.follow(ctx, client); err != nil {
		return err
	}
	if k.Every > 0 {
		go k.rotate(ctx, secrets)
	}
	return nil
}

// Ring is the ring as it was read last.
func (k *Keyring) Ring() policyconfig.KeyRing {
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.ring
}

// Fault says what is wrong with the current Secret. The last good ring stays in use meanwhile.
func (k *Keyring) Fault() Fault {
	k.lock.Lock()
	defer k.lock.Unlock()
	return k.fault
}

// tellFault says what is wrong with the Secret.
func (k *Keyring) tellFault(words string) {
	k.Log.Error(words, "secret", k.Namespace+"/"+k.Name)
	k.lock.Lock()
	defer k.lock.Unlock()
	if k.fault.Since.IsZero() {
		k.fault.Since = time.Now()
	}
	k.fault.Words = "Secret " + k.Namespace + "/" + k.Name + ": " + words
}

// take reads a Secret's ring.
func (k *Keyring) take(secret *corev1.Secret) error {
	name := "Secret " + k.Namespace + "/" + k.Name
	text, has := secret.Data[keyfile.RingName]
	if !has {
		return fmt.Errorf("%s: data: Required value: it has no %s; 'limpet keygen' makes one", name, keyfile.RingName)
	}
	ring, err := keyfile.Parse(name, string(text))
	if err == nil {
		err = keyfile.CheckNotExpired(ring, time.Now())
	}
	if err != nil {
		return err
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	k.ring, k.secret, k.fault = ring, secret, Fault{}
	return nil
}

// follow takes each ring that the Secret gets.
func (k *Keyring) follow(ctx context.Context, client *rest.RESTClient) error {
	return followSecret(ctx, client, k.Namespace, k.Name, func(secret *corev1.Secret) {
		k.lock.Lock()
		known := secret.ResourceVersion == k.secret.ResourceVersion
		k.lock.Unlock()
		if known {
			return
		}
		if err := k.take(secret); err != nil {
			k.tellFault("the key ring is invalid, and the last one stays: " + err.Error())
			return
		}
		k.Changed()
	}, func() {
		k.tellFault(
			"the key ring's Secret is gone; its ring stays until this process ends, and the next one makes another, " +
				"with which all sessions end",
		)
	})
}

// rotate puts a fresh key into the ring whenever it is time. Every process does: the API server takes the first one's,
// and the others see that nothing is due.
func (k *Keyring) rotate(ctx context.Context, secrets Secrets) {
	for ctx.Err() == nil {
		again, err := k.rotateOnce(ctx, secrets, time.Now())
		if err != nil {
			k.Log.Error("the keys do not rotate", "reason", err)
			again = time.Now().Add(rotateRetry)
		}
		select {
		case <-ctx.Done():
		case <-time.After(min(time.Until(again), time.Hour)): // for the ring may change meanwhile, and clocks do
		}
	}
}

// rotateOnce writes the ring as it ought to be, and says when to look again.
func (k *Keyring) rotateOnce(
	ctx context.Context,
	secrets Secrets,
	now time.Time,
) (time.Time, error) {
	k.lock.Lock()
	ring, secret := k.ring, k.secret
	k.lock.Unlock()
	longest, known := k.Overlap()
	if !known {
		return now.Add(rotatePoll), nil
	}
	rotation := keyfile.Rotation{Every: k.Every, Lead: min(lead, k.Every/4), Overlap: max(k.Every, longest) + lead}
	next, again, err := rotation.Rotate(ring, secret.CreationTimestamp.Time, now)
	if err != nil || next.Keys[0].ID == ring.Keys[0].ID {
		return again, err
	}
	text, err := keyfile.Marshal(next)
	if err != nil {
		return again, err
	}
	update := secret.DeepCopy()
	update.Data[keyfile.RingName] = text
	written, err := secrets.Update(ctx, update, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) { // another process has, or a person: the ring comes again
		return now.Add(rotateRetry), nil
	}
	if err != nil {
		return again, err
	}
	k.Log.Info("a fresh key is in the ring", "id", next.Keys[0].ID, "signs from", next.Keys[0].NotBefore.String())
	if err := k.take(written); err != nil {
		return again, err
	}
	k.Changed()
	return again, nil
}
