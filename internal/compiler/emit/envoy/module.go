package envoy

import (
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limpet-proxy/limpet/internal/compiler/emit/filtermodule"
)

// moduleCluster is the name of the cluster that Envoy fetches limpet.wasm from.
const moduleCluster = "limpet-module"

// How Envoy fetches the module. A listener does not serve before the fetch has ended, so the fetch gives up after about
// 20 seconds.
const (
	fetchTimeout  = 5
	fetchRetries  = 5
	fetchBackOff  = 1
	fetchLongest  = 5
	moduleAddress = "http://" + moduleCluster
)

// newCode says where limpet.wasm is: in a file, or at a server. Where it can't be had, or is another than it should be,
// a route that needs it answers 503 (FailurePolicy), for without it anybody's pin would be followed.
func (s *Settings) newCode() *corev3.AsyncDataSource {
	if s.ModuleSHA256 == "" {
		return filtermodule.LocalFile(s.ModulePath)
	}
	return &corev3.AsyncDataSource{Specifier: &corev3.AsyncDataSource_Remote{Remote: &corev3.RemoteDataSource{
		HttpUri: &corev3.HttpUri{
			Uri: moduleAddress + s.ModulePath, HttpUpstreamType: &corev3.HttpUri_Cluster{Cluster: moduleCluster},
			Timeout: seconds(fetchTimeout),
		},
		Sha256: s.ModuleSHA256,
		RetryPolicy: &corev3.RetryPolicy{
			NumRetries:   wrapperspb.UInt32(fetchRetries),
			RetryBackOff: &corev3.BackoffStrategy{BaseInterval: seconds(fetchBackOff), MaxInterval: seconds(fetchLongest)},
		},
	}}}
}
