package envoy

import (
	"fmt"
	"slices"
	"strings"

	accesslogv3 "github.com/envoyproxy/go-control-plane/envoy/config/accesslog/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	streamv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/access_loggers/stream/v3"
	"google.golang.org/protobuf/types/known/structpb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
	"github.com/limpet-proxy/limpet/internal/compiler/ir"
	policyconfig "github.com/limpet-proxy/limpet/policy-config"
)

// requestFields are those of Envoy's own default log, under names of their own.
var requestFields = map[string]string{
	"start_time": "%START_TIME%", "method": "%REQ(:METHOD)%", "path": "%REQ(X-ENVOY-ORIGINAL-PATH?:PATH)%",
	"protocol":      "%PROTOCOL%",
	"response_code": "%RESPONSE_CODE%", "response_flags": "%RESPONSE_FLAGS%",
	"response_code_details": "%RESPONSE_CODE_DETAILS%",
	"bytes_received":        "%BYTES_RECEIVED%", "bytes_sent": "%BYTES_SENT%", "duration": "%DURATION%",
	"upstream_service_time": "%RESP(X-ENVOY-UPSTREAM-SERVICE-TIME)%", "x_forwarded_for": "%REQ(X-FORWARDED-FOR)%",
	"user_agent": "%REQ(USER-AGENT)%", "request_id": "%REQ(X-REQUEST-ID)%", "authority": "%REQ(:AUTHORITY)%",
	"upstream_host": "%UPSTREAM_HOST%", "upstream_cluster": "%UPSTREAM_CLUSTER%",
	"upstream_attempts": "%UPSTREAM_REQUEST_ATTEMPT_COUNT%",
	"route_name":        "%ROUTE_NAME%", "downstream_remote_address": "%DOWNSTREAM_REMOTE_ADDRESS%",
}

// sessionFields are limpet's own, by the filter state that has them.
var sessionFields = map[string]string{
	"session_outcome": policyconfig.NameFilterState, "session_policy": policyconfig.PolicyFilterState,
	"session_age": policyconfig.AgeFilterState, "session_host": policyconfig.HostFilterState,
	"session_reason": policyconfig.ReasonFilterState,
}

// LoggedHeaders are those of requests and responses whose values stand in each line of an access log.
type LoggedHeaders struct{ Request, Response []string }

// IsEmpty tells whether there are none.
func (h LoggedHeaders) IsEmpty() bool { return len(h.Request)+len(h.Response) == 0 }

// Has tells whether a header is among them.
func (h LoggedHeaders) Has(name string) bool {
	return slices.ContainsFunc(
		slices.Concat(h.Request, h.Response),
		func(logged string) bool { return strings.EqualFold(logged, name) },
	)
}

// maxLogged is how much of a value is logged.
const maxLogged = 256

// addTo adds them to the fields of a log, which have other names.
func (h LoggedHeaders) addTo(fields map[string]any) {
	for field, of := range map[string]struct {
		operator string
		names    []string
	}{"request_headers": {"REQ", h.Request}, "response_headers": {"RESP", h.Response}} {
		values := map[string]any{}
		for _, name := range of.names {
			values[strings.ToLower(name)] = fmt.Sprintf("%%%s(%s):%d%%", of.operator, strings.ToUpper(name), maxLogged)
		}
		if len(values) > 0 {
			fields[field] = values
		}
	}
}

// podMetadata is where an endpoint has the name of its pod, under podKey.
const (
	podMetadata = "limpet.dev"
	podKey      = "pod"
)

// namePod puts the name of a pod into its endpoint, where that is known.
func namePod(to *endpointv3.LbEndpoint, pod ir.Pod) {
	if pod.Object != "" {
		describeEndpoint(to, podMetadata, &structpb.Struct{Fields: map[string]*structpb.Value{
			podKey: structpb.NewStringValue(pod.Namespace + "/" + pod.Object),
		}})
	}
}

// filterState reads what the filter has set.
func (e *emitter) filterState(name string) string {
	return filtermodule.FilterState(name, e.settings.Native)
}

// newSessionLog is a log with what limpet has to say of sessions.
func (e *emitter) newSessionLog() []*accesslogv3.AccessLog {
	fields := map[string]any{"upstream_pod": "%UPSTREAM_METADATA(" + podMetadata + ":" + podKey + ")%"}
	for name, state := range sessionFields {
		fields[name] = e.filterState(state)
	}
	if e.settings.Plugin.SessionDigest {
		fields["session"] = e.filterState(policyconfig.SessionFilterState)
	}
	return e.newLog(fields)
}

// newLog writes a line of JSON for each request on standard output, with further fields in addition to a request's.
func (e *emitter) newLog(fields map[string]any) []*accesslogv3.AccessLog {
	for name, value := range requestFields {
		fields[name] = value
	}
	e.settings.Logged.addTo(fields)
	format, err := structpb.NewStruct(fields)
	if err != nil {
		e.fail(err)
	}
	return []*accesslogv3.AccessLog{{
		Name: "envoy.access_loggers.stdout",
		ConfigType: &accesslogv3.AccessLog_TypedConfig{TypedConfig: e.pack(&streamv3.StdoutAccessLog{
			AccessLogFormat: &streamv3.StdoutAccessLog_LogFormat{LogFormat: &corev3.SubstitutionFormatString{
				Format: &corev3.SubstitutionFormatString_JsonFormat{JsonFormat: format},
			}},
		})},
	}}
}
