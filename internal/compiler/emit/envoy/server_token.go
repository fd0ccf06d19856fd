package envoy

import (
	"net"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	credentialv3 "github.com/envoyproxy/go-control-plane/envoy/config/grpc_credential/v3"
)

// tokenCredentials reads a token's file whenever Envoy connects. Envoy's own gRPC client does not: its credential
// injector reads a secret of the bootstrap once, and would show a token that has expired for ever after.
const tokenCredentials = "envoy.grpc_credentials.file_based_metadata" //nolint:gosec // it is a name

// newTokenService is the server for an Envoy that shows a token.
func (e *emitter) newTokenService(at string, t ServerTLS) *corev3.GrpcService {
	file := func(path string) *corev3.DataSource {
		return &corev3.DataSource{Specifier: &corev3.DataSource_Filename{Filename: path}}
	}
	return &corev3.GrpcService{TargetSpecifier: &corev3.GrpcService_GoogleGrpc_{GoogleGrpc: &corev3.GrpcService_GoogleGrpc{
		TargetUri: at, StatPrefix: serverCluster, CredentialsFactoryName: tokenCredentials,
		ChannelCredentials: &corev3.GrpcService_GoogleGrpc_ChannelCredentials{
			CredentialSpecifier: &corev3.GrpcService_GoogleGrpc_ChannelCredentials_SslCredentials{
				SslCredentials: &corev3.GrpcService_GoogleGrpc_SslCredentials{RootCerts: file(t.Authority)},
			},
		},
		CallCredentials: []*corev3.GrpcService_GoogleGrpc_CallCredentials{{
			CredentialSpecifier: &corev3.GrpcService_GoogleGrpc_CallCredentials_FromPlugin{
				FromPlugin: &corev3.GrpcService_GoogleGrpc_CallCredentials_MetadataCredentialsFromPlugin{
					Name: tokenCredentials,
					ConfigType: &corev3.GrpcService_GoogleGrpc_CallCredentials_MetadataCredentialsFromPlugin_TypedConfig{
						TypedConfig: e.pack(&credentialv3.FileBasedMetadataConfig{
							SecretData: file(t.Token), HeaderKey: "authorization", HeaderPrefix: "Bearer ",
						}),
					},
				},
			},
		}},
		ChannelArgs: newChannelArgs(at, t.Name),
	}}}
}

// newChannelArgs says what newServerProtocol does, and that an answer may be large: one has all clusters.
func newChannelArgs(at, name string) *corev3.GrpcService_GoogleGrpc_ChannelArgs {
	type value = corev3.GrpcService_GoogleGrpc_ChannelArgs_Value
	text := func(s string) *value {
		return &value{ValueSpecifier: &corev3.GrpcService_GoogleGrpc_ChannelArgs_Value_StringValue{StringValue: s}}
	}
	number := func(n int64) *value {
		return &value{ValueSpecifier: &corev3.GrpcService_GoogleGrpc_ChannelArgs_Value_IntValue{IntValue: n}}
	}
	args := map[string]*value{
		"grpc.keepalive_time_ms": number(30_000), "grpc.keepalive_timeout_ms": number(10_000),
		"grpc.max_receive_message_length": number(-1), "grpc.max_reconnect_backoff_ms": number(10_000),
	}
	if host, _, err := net.SplitHostPort(at); err == nil && host != name {
		args["grpc.ssl_target_name_override"] = text(name)
	}
	return &corev3.GrpcService_GoogleGrpc_ChannelArgs{Args: args}
}
