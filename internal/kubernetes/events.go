package kubernetes

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/limpet-proxy/limpet/compiler/api/v1alpha1"
)

// Events tells people of objects that have become bad, or good again, where "kubectl describe" and "kubectl events"
// show it. Few are sent for each namespace, for those who change objects there do not pay for events. The rest is
// dropped, since statuses say the same.
type Events struct {
	recorder record.EventRecorder

	lock sync.Mutex
	of   map[string]*rate.Limiter // by namespace
}

const (
	// eventsEvery is how often an event of a namespace is sent, after eventsAtOnce at once.
	eventsEvery, eventsAtOnce = time.Second, 100
	// maxLimited is how many namespaces are counted.
	maxLimited = 4096
)

func newEvents(recorder record.EventRecorder) *Events {
	return &Events{recorder: recorder, of: map[string]*rate.Limiter{}}
}

// allow tells whether one more event of a namespace is sent.
func (e *Events) allow(namespace string) bool {
	e.lock.Lock()
	defer e.lock.Unlock()
	if e.of[namespace] == nil {
		if len(e.of) >= maxLimited {
			clear(e.of)
		}
		e.of[namespace] = rate.NewLimiter(rate.Every(eventsEvery), eventsAtOnce)
	}
	return e.of[namespace].Allow()
}

// NewEvents makes an Events that sends until ctx ends. It sends events of the core API: the recorder of events.k8s.io
// brings a client for each API of Kubernetes.
func NewEvents(ctx context.Context, config *rest.Config) (*Events, error) {
	client, err := newClient(config, corev1.SchemeGroupVersion)
	if err != nil {
		return nil, err
	}
	broadcaster := record.NewBroadcaster(record.WithContext(ctx))
	broadcaster.StartRecordingToSink(eventSink{client})
	return newEvents(broadcaster.NewRecorder(runtime.NewScheme(), corev1.EventSource{Component: "limpet.dev/limpet"})), nil
}

// eventSink writes events into the namespaces of what they are about.
type eventSink struct{ client *rest.RESTClient }

// Create writes the first event of its kind.
func (s eventSink) Create(e *corev1.Event) (*corev1.Event, error) {
	return s.write(s.client.Post(), e, e)
}

// Update writes an event anew.
func (s eventSink) Update(e *corev1.Event) (*corev1.Event, error) {
	return s.write(s.client.Put().Name(e.Name), e, e)
}

// Patch writes into an event that it has occurred again.
func (s eventSink) Patch(e *corev1.Event, change []byte) (*corev1.Event, error) {
	return s.write(s.client.Patch(types.StrategicMergePatchType).Name(e.Name), e, change)
}

func (s eventSink) write(r *rest.Request, e *corev1.Event, body any) (*corev1.Event, error) {
	written := &corev1.Event{}
	r.NamespaceIfScoped(e.Namespace, e.Namespace != "").Resource("events").Body(body)
	return written, r.Do(context.Background()).Into(written)
}

// The conditions of which people ought to hear: those that are good when they are true, and those that are bad then.
var (
	goodConditions = []string{"Accepted", "Programmed", "ResolvedRefs"}
	badConditions  = []string{
		"Conflicted", "PartiallyInvalid", "OverlappingTLSConfig", "InsecureFrontendValidationMode",
		v1alpha1.ConditionSessionsEnded,
	}
)

// maxNote is how long the text of an event may be, in bytes.
const maxNote = 1024

// tell sends an event for each condition that has changed from good to bad or back, and for each that is bad from the
// start.
func (e *Events) tell(of *corev1.ObjectReference, before, after map[string]any) {
	was := map[string]condition{}
	for _, c := range listConditions(before, "") {
		was[c.at] = c
	}
	for _, c := range listConditions(after, "") {
		last, known := was[c.at]
		isWorse := c.bad && (!known || !last.bad || last.Reason != c.Reason || last.Message != c.Message)
		isGood := !c.bad && known && last.bad
		switch {
		case !isWorse && !isGood || !e.allow(of.Namespace):
		case isWorse:
			e.recorder.Event(of, corev1.EventTypeWarning, c.Reason, c.note())
		default:
			e.recorder.Event(of, corev1.EventTypeNormal, c.Type, c.note())
		}
	}
}

// condition is a condition of a status.
type condition struct {
	metav1.Condition
	at  string // which of the status
	bad bool
}

// note is the text of an event about the condition.
func (c *condition) note() string {
	text := c.at + ": " + string(c.Status)
	if c.Message != "" {
		text += ": " + c.Message
	}
	return strings.ToValidUTF8(text[:min(len(text), maxNote)], "")
}

// listConditions lists the conditions of a status that people ought to hear of: its own, and those of its listeners,
// parents and ancestors, by their names.
func listConditions(of map[string]any, at string) (all []condition) {
	for field, value := range of {
		list, isList := value.([]any)
		if !isList {
			continue
		}
		for _, one := range list {
			fields, is := one.(map[string]any)
			switch {
			case !is:
			case field == "conditions":
				if c, counts := readCondition(fields, at); counts {
					all = append(all, c)
				}
			default:
				inner := listConditions(fields, strings.TrimSpace(at+" "+nameOf(fields)))
				if field == "listeners" { // their Gateway, of which people hear, waits for the same
					inner = slices.DeleteFunc(
						inner,
						func(c condition) bool { return c.Reason == string(gatewayv1.ListenerReasonPending) },
					)
				}
				all = append(all, inner...)
			}
		}
	}
	slices.SortFunc(all, func(a, b condition) int { return strings.Compare(a.at, b.at) })
	return all
}

func readCondition(fields map[string]any, at string) (c condition, counts bool) {
	if runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c.Condition) != nil {
		return c, false
	}
	isTrue := c.Status == metav1.ConditionTrue
	good, bad := slices.Contains(goodConditions, c.Type), slices.Contains(badConditions, c.Type)
	c.at, c.bad = strings.TrimSpace(at+" "+c.Type), good && !isTrue || bad && isTrue
	return c, good || bad
}

// nameOf is what an entry of a status is about: a listener, or the parent or ancestor that it names.
func nameOf(entry map[string]any) string {
	name, _ := entry["name"].(string)
	for _, field := range []string{"parentRef", "ancestorRef"} {
		ref, is := entry[field].(map[string]any)
		if !is {
			continue
		}
		for _, part := range []string{"kind", "namespace", "name", "sectionName"} {
			if text, has := ref[part].(string); has {
				name = strings.TrimSpace(name + " " + text)
			}
		}
	}
	return name
}
