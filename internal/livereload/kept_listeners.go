package livereload

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/envoy"
)

// keptListeners are the listeners that stay as they are, by name: Envoy does not take what has become of them, and that holds up
// nothing else.
type keptListeners map[string]rejectedListener

// rejectedListener is what Envoy did not take, and when.
type rejectedListener struct {
	content []byte
	at      time.Time
}

// keep notes what Envoy has rejected of a configuration.
func (k keptListeners) keep(names []string, of *envoy.Discovery) {
	for _, l := range of.Listeners {
		if slices.Contains(names, l.Name) {
			k[l.Name] = rejectedListener{l.Content, time.Now()}
		}
	}
}

// putBack gives the next configuration with those of the live one that are kept. What Envoy has rejected is tried again with the
// first change after a while, or when it is written otherwise.
func (k keptListeners) putBack(live, next *envoy.Discovery) *envoy.Discovery {
	maps.DeleteFunc(k, func(_ string, r rejectedListener) bool { return time.Since(r.at) > refusedFor })
	if len(k) == 0 || live == nil {
		return next
	}
	before := map[string]envoy.Resource{}
	for _, l := range live.Listeners {
		before[l.Name] = l
	}
	with := *next
	with.Listeners = slices.Clone(next.Listeners)
	for i, l := range next.Listeners {
		if was, is := before[l.Name]; is && k[l.Name].content != nil && bytes.Equal(k[l.Name].content, l.Content) {
			with.Listeners[i] = was
		}
	}
	return &with
}
