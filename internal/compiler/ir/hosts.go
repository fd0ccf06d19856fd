package ir

import (
	"reflect"
	"time"
)

// HostPolicy is what is expected of a cluster's hosts. Those that don't do it get no requests, and the sessions on them
// are lost.
type HostPolicy struct {
	// HealthCheck and OutlierDetection are nil for none.
	HealthCheck      *HealthCheck
	OutlierDetection *OutlierDetection
	// SlowStart is nil for none, and with strategies that have none.
	SlowStart *SlowStart
	// MaxConnections is how many each host gets; 0 for no limit.
	MaxConnections uint32
}

// Equal compares the values.
func (p HostPolicy) Equal(other HostPolicy) bool { return reflect.DeepEqual(p, other) }

// HealthCheck asks each host every Interval. HTTP and GRPC say what; neither is for a connection.
type HealthCheck struct {
	Interval, Timeout time.Duration
	// UnhealthyThreshold failures in a row, or HealthyThreshold good answers, change what is thought of a host.
	UnhealthyThreshold, HealthyThreshold uint32

	HTTP *HTTPHealthCheck
	GRPC *GRPCHealthCheck
}

// HTTPHealthCheck is a GET request, and the statuses that it must be answered with.
type HTTPHealthCheck struct {
	Path string
	// Host is empty for that of the cluster's first backend.
	Host     string
	Statuses []uint32
}

// GRPCHealthCheck asks after a gRPC service, the empty one for the server as a whole.
type GRPCHealthCheck struct {
	Service string
}

// OutlierDetection takes a host out after so many failures in a row; 0 is never.
type OutlierDetection struct {
	Consecutive5xx, ConsecutiveGateway uint32
	// Interval is how often hosts are let in again, BaseEjectionTime how long they are out the first time.
	Interval, BaseEjectionTime time.Duration
	// MaxEjectionPercent of the hosts may be out at once.
	MaxEjectionPercent uint32
}

// SlowStart brings a host within Window from MinWeightPercent of its share to all of it.
type SlowStart struct {
	Window           time.Duration
	MinWeightPercent uint32
}
