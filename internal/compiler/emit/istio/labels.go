package istio

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	"github.com/limpet-proxy/limpet/internal/compiler/object"
	"github.com/limpet-proxy/limpet/internal/compiler/report"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// The labels of a Service (Istio, pilot/pkg/features). sessionLabel names a header by which Istio pins where
// PILOT_ENABLE_PERSISTENT_SESSION_FILTER is on. drainLabel, whatever its value, has Istio tell proxies of endpoints
// that terminate and still serve (pilot/pkg/xds/endpoints); where that filter is on, it would have Istio set a cookie
// too.
const (
	sessionLabel = "istio.io/persistent-session-header"
	drainLabel   = "istio.io/persistent-session"
)

// checkLabels sees to the label of the Services, and says where it is missing.
func (e *emitter) checkLabels(hosts map[string]bool) {
	services := map[string]*ir.Object{}
	for _, s := range e.plan.Objects[object.KindService] {
		services[serviceHost(s.Ref)] = s
	}
	pin := policyconfig.DefaultConfig().PinHeader
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		s, entry := services[host], e.plan.Hosts[host]
		switch {
		case !e.NativePin && s != nil && s.Labels[drainLabel] == "":
			e.rep.AdviseAt(report.NativePin, s.Subject, "metadata.labels", fmt.Sprintf(
				"without the label %s, whatever its value, Istio takes hosts that terminate away at once, and their sessions move",
				drainLabel,
			))
		case !e.NativePin:
		case s != nil && s.Labels[sessionLabel] == pin, entry != nil && entry.Labels[sessionLabel] == pin:
		case s != nil:
			e.addDocuments(e.addLabel(s, pin))
		case entry != nil:
			e.rep.WarnAt(report.NativePin, entry.Subject, "metadata.labels", fmt.Sprintf(
				"Istio pins only with the label %s: %s, which is yours to set", sessionLabel, pin))
		default:
			e.rep.WarnAt(report.NativePin, e.findUser(host), "", fmt.Sprintf(
				"%s is not in the input: Istio pins only where it has the label %s: %s, which is yours to set",
				host,
				sessionLabel,
				pin,
			))
		}
	}
}

// findUser is a route that leads to a host.
func (e *emitter) findUser(host string) report.Subject {
	for _, p := range e.proxySets {
		for _, r := range p.routes {
			if slices.Contains(r.hosts, host) {
				return r.rule.Route.Subject
			}
		}
	}
	return nil
}

// addLabel is the Service as it was read, with the label, and what an API server fills in.
func (e *emitter) addLabel(s *ir.Object, pin string) document {
	value := &corev1.Service{}
	e.fail(json.Unmarshal(s.JSON, value))
	if value.Labels == nil {
		value.Labels = map[string]string{}
	}
	value.Labels[sessionLabel] = pin
	for i := range value.Spec.Ports {
		if p := &value.Spec.Ports[i]; p.Protocol == "" {
			p.Protocol = corev1.ProtocolTCP
		}
	}
	text, err := json.Marshal(value)
	e.fail(err)
	var d document
	e.fail(json.Unmarshal(text, &d))
	delete(d, "status")
	if meta, is := d["metadata"].(map[string]any); is && meta["creationTimestamp"] == nil {
		delete(meta, "creationTimestamp")
	}
	return d
}
