package v1alpha1

// HealthCheck says how hosts are asked whether they can serve. Fields and defaults are those of Envoy Gateway's
// BackendTrafficPolicy, spec.healthCheck.active.
//
// +kubebuilder:validation:XValidation:rule="!has(self.http) || !has(self.type) || self.type == 'HTTP'",message="may only be set with type HTTP",fieldPath=".http",reason=FieldValueForbidden
// +kubebuilder:validation:XValidation:rule="!has(self.grpc) || has(self.type) && self.type == 'GRPC'",message="may only be set with type: GRPC",fieldPath=".grpc",reason=FieldValueForbidden
type HealthCheck struct {
	// Type is what is asked: HTTP for a status, GRPC for the answer of grpc.health.v1.Health, TCP for a connection.
	// Left out: HTTP. GRPC takes backends that speak HTTP/2.
	// +kubebuilder:validation:Enum=HTTP;GRPC;TCP
	// +optional
	Type *HealthCheckType `json:"type,omitempty"`

	// Interval is the time between two questions to a host, in whole seconds. Left out: 3s.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be between 1s and 1h"
	// +optional
	Interval *Duration `json:"interval,omitempty"`

	// Timeout is how long a host may take to answer, in whole seconds. Left out: 1s.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) > duration('0s') && duration(self) <= duration('1m')",message="must be between 1s and 1m"
	// +optional
	Timeout *Duration `json:"timeout,omitempty"`

	// UnhealthyThreshold is after how many failures in a row a host gets no requests. Left out: 3.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	UnhealthyThreshold *int32 `json:"unhealthyThreshold,omitempty"`

	// HealthyThreshold is after how many good answers in a row it gets requests again. Left out: 1.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	HealthyThreshold *int32 `json:"healthyThreshold,omitempty"`

	// HTTP is the request that is sent.
	// +optional
	HTTP *HTTPHealthCheck `json:"http,omitempty"`

	// GRPC is what is asked for.
	// +optional
	GRPC *GRPCHealthCheck `json:"grpc,omitempty"`
}

// HealthCheckType is what hosts are asked.
type HealthCheckType string

// The types of health checks.
const (
	HealthCheckHTTP HealthCheckType = "HTTP"
	HealthCheckGRPC HealthCheckType = "GRPC"
	HealthCheckTCP  HealthCheckType = "TCP"
)

// HTTPHealthCheck is a GET request and what it must be answered.
type HTTPHealthCheck struct {
	// Path may have a query. Left out: "/".
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^/[!-"$-~]*$`
	// +optional
	Path *string `json:"path,omitempty"`

	// Hostname is what the request has for its host. Left out: the Service's NAME.NAMESPACE.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	// +optional
	Hostname *string `json:"hostname,omitempty"`

	// ExpectedStatuses are the statuses of a host that can serve. Left out: 200.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:Minimum=100
	// +kubebuilder:validation:items:Maximum=599
	// +listType=set
	// +optional
	ExpectedStatuses []int32 `json:"expectedStatuses,omitempty"`
}

// GRPCHealthCheck is the question of the gRPC health checking protocol.
type GRPCHealthCheck struct {
	// Service is the gRPC service that is asked after. Left out: the server as a whole.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[!-~]+$`
	// +optional
	Service *string `json:"service,omitempty"`
}

// OutlierDetection says when a host is taken out and for how long. Fields are those of Envoy Gateway's
// BackendTrafficPolicy, spec.healthCheck.passive, and of Istio's DestinationRule, spec.trafficPolicy.outlierDetection.
//
// +kubebuilder:validation:XValidation:rule="!has(self.consecutive5xxErrors) || self.consecutive5xxErrors > 0 || has(self.consecutiveGatewayErrors) && self.consecutiveGatewayErrors > 0",message="one of consecutive5xxErrors and consecutiveGatewayErrors must be above 0",reason=FieldValueInvalid
type OutlierDetection struct {
	// Consecutive5xxErrors takes a host out after so many requests in a row that it answered with a status of 500 or above,
	// or did not answer; 0 never. Left out: 5.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	Consecutive5xxErrors *int32 `json:"consecutive5xxErrors,omitempty"`

	// ConsecutiveGatewayErrors is the same for 502, 503, 504 and no answer. Left out: 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	// +optional
	ConsecutiveGatewayErrors *int32 `json:"consecutiveGatewayErrors,omitempty"`

	// Interval is how often Envoy looks whose time is over, in whole seconds. Left out: 10s.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) > duration('0s') && duration(self) <= duration('1h')",message="must be between 1s and 1h"
	// +optional
	Interval *Duration `json:"interval,omitempty"`

	// BaseEjectionTime is how long a host is out, in whole seconds: once this long the first time, twice this long the
	// second, up to 300s or this, whichever is longer. Left out: 30s.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be between 1s and 24h"
	// +optional
	BaseEjectionTime *Duration `json:"baseEjectionTime,omitempty"`

	// MaxEjectionPercent is how many of a backend's hosts, in percent, may be out at once. Left out: 50.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MaxEjectionPercent *int32 `json:"maxEjectionPercent,omitempty"`
}

// SlowStart says how a host comes to its share of the requests that no session pins.
type SlowStart struct {
	// Window is how long that takes from when the host is there, or well again, in whole seconds.
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}(h|m|s|ms)){1,4}$') || duration(self) > duration('0s') && duration(self) <= duration('24h')",message="must be between 1s and 24h"
	// +required
	Window Duration `json:"window"`

	// MinWeightPercent is what a host has of its share at the beginning, in percent. Left out: 10.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	MinWeightPercent *int32 `json:"minWeightPercent,omitempty"`
}

// HostLimits are what one Envoy gives each host at once. There is no limit of requests: Envoy has none for a host, and would answer
// 503 to requests of sessions as to others (docs/semantics.md, S85).
type HostLimits struct {
	// MaxConnections is how many connections a host gets, and one for each of Envoy's threads at least. A host that speaks
	// HTTP/1.1 has one request at a time on each; further requests that are for it wait.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +required
	MaxConnections int32 `json:"maxConnections"`
}
