package grpcfence_test

import (
	"context"
	"log"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/zkfence/zkfence/fencing"
	"github.com/zkfence/zkfence/fencing/door"
	"github.com/zkfence/zkfence/fencing/grpcfence"
)

// A server that judges commands, behind its authentication, and a client that stamps
// them.
func Example() {
	d, err := door.Open("/var/lib/reports/door", door.Options{})
	if err != nil {
		log.Print(err)
		return
	}
	defer func() { _ = d.Close() }()
	judge, err := grpcfence.UnaryServer(grpcfence.Config{Door: d, Resource: grpcfence.One("report")})
	if err != nil {
		log.Fatal(err)
	}
	var authenticate grpc.UnaryServerInterceptor // yours
	server := grpc.NewServer(grpc.ChainUnaryInterceptor(authenticate, judge))
	grpcfence.Register(server, d) // for Raise

	conn, err := grpc.NewClient("reports.internal:443",
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithUnaryInterceptor(grpcfence.UnaryClient(nil)))
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = func(ctx context.Context, s fencing.Stamp, publish func(context.Context) error) error { // s is a Hold's Next
		return publish(fencing.WithStamp(ctx, s)) // a call of your generated client
	}
}
