package serve

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
)

// compression notes of a stream whether its messages are compressed, which Envoys' are not: what a small one comes to
// would be known too late.
type compression struct{}

type isCompressed struct{}

// TagRPC gives the stream a place for that.
func (compression) TagRPC(ctx context.Context, _ *stats.RPCTagInfo) context.Context {
	return context.WithValue(ctx, isCompressed{}, new(bool))
}

// HandleRPC notes it.
func (compression) HandleRPC(ctx context.Context, s stats.RPCStats) {
	if header, is := s.(*stats.InHeader); is && header.Compression != "" && header.Compression != encoding.Identity {
		if noted, is := ctx.Value(isCompressed{}).(*bool); is {
			*noted = true
		}
	}
}

// TagConn is for a connection; nothing is noted.
func (compression) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }

// HandleConn is, too.
func (compression) HandleConn(context.Context, stats.ConnStats) {}

// refuseCompressed refuses such a stream.
func refuseCompressed(server any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	if noted, is := stream.Context().Value(isCompressed{}).(*bool); is && *noted {
		return status.Error(codes.Unimplemented, "compressed messages are not read")
	}
	return handle(server, stream)
}
