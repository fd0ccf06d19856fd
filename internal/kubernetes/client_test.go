package kubernetes

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
)

// TestClientRequests: the requests are those of client-go's own clients, to the byte, and so are the errors.
func TestClientRequests(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		asked = append(asked, fmt.Sprint(r.Method, r.URL, r.Header, string(body), err))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_, _ = io.WriteString(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "no, no", "reason": "Conflict", "code": 409}`)
	}))
	defer server.Close()
	config := &rest.Config{Host: server.URL, QPS: -1, UserAgent: "limpet"}
	theirs, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	secrets, secretsFailed := NewSecrets(config, "limpet-system")
	maps, mapsFailed := newConfigMaps(config, "limpet-system")
	leases, leasesFailed := newLeases(config, "limpet-system")
	pods, podsFailed := newPods(config, "limpet-system")
	ours, err := newClient(config, corev1.SchemeGroupVersion)
	if secretsFailed != nil || mapsFailed != nil || leasesFailed != nil || podsFailed != nil || err != nil {
		t.Fatal(secretsFailed, mapsFailed, leasesFailed, podsFailed, err)
	}
	tokens := &Tokens{}
	if err := tokens.Begin(config, &Source{}); err != nil {
		t.Fatal(err)
	}
	same := func(what string, one, other func() error) {
		t.Helper()
		asked = nil
		err, want := one(), other()
		if len(asked) != 2 || asked[0] != asked[1] {
			t.Errorf("%s asks for %q", what, asked)
		}
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, want %v", what, err, want)
		}
	}
	sameOf(t, same, secrets, theirs.CoreV1().Secrets("limpet-system"), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "1"}, Data: map[string][]byte{"a": {0, 1}},
	})
	sameOf(t, same, maps, theirs.CoreV1().ConfigMaps("limpet-system"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	sameOf(t, same, pods, theirs.CoreV1().Pods("limpet-system"), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	sameOf(t, same, leases, theirs.CoordinationV1().Leases("limpet-system"), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}})

	review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: "t", Audiences: []string{"limpet.dev"}}}
	same("a review", func() error {
		_, err := tokens.review(t.Context(), review)
		return err
	}, func() error {
		_, err := theirs.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err
	})
	event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}, Reason: "NotAllowed"}
	sink, theirSink := eventSink{ours}, &typedcorev1.EventSinkImpl{Interface: theirs.CoreV1().Events("")}
	for _, write := range []func(record.EventSink) (*corev1.Event, error){
		func(to record.EventSink) (*corev1.Event, error) { return to.Create(event) },
		func(to record.EventSink) (*corev1.Event, error) { return to.Update(event) },
		func(to record.EventSink) (*corev1.Event, error) { return to.Patch(event, []byte(`{"count": 2}`)) },
	} {
		same("an event", func() error {
			_, err := write(sink)
			return err
		}, func() error {
			_, err := write(theirSink)
			return err
		})
	}
}

// sameOf compares all requests about a kind.
func sameOf[T, L any](t *testing.T, same func(string, func() error, func() error), ours, theirs Objects[T, L], one T) {
	t.Helper()
	calls := []func(Objects[T, L]) error{
		func(of Objects[T, L]) error {
			_, err := of.Get(t.Context(), "a", metav1.GetOptions{})
			return err
		},
		func(of Objects[T, L]) error {
			_, err := of.List(t.Context(), metav1.ListOptions{LabelSelector: "limpet.dev/memory=owners"})
			return err
		},
		func(of Objects[T, L]) error { return of.Delete(t.Context(), "a", metav1.DeleteOptions{}) },
		func(of Objects[T, L]) error {
			_, err := of.Create(t.Context(), one, metav1.CreateOptions{FieldManager: "limpet"})
			return err
		},
		func(of Objects[T, L]) error {
			_, err := of.Update(t.Context(), one, metav1.UpdateOptions{FieldManager: "limpet"})
			return err
		},
	}
	for i, call := range calls {
		same(fmt.Sprintf("call %d of %T", i, one), func() error { return call(ours) }, func() error { return call(theirs) })
	}
}
