// Program health is gRPC's half of the scenario of watched health: a server with the health service, or a client that watches it.
//
//	health server PORT         each line of the input is a status of the service, or "calls"; prints the number of its calls
//	health client ADDRESS...   each line of the input makes 20 calls; prints the codes of their ends
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/resolver/manual"
	"google.golang.org/grpc/status"
)

const service = "grpc.testing.TestService"

func main() {
	start := serve
	if os.Args[1] == "client" {
		start = dial
	}
	reply := start(os.Args[2:])
	fmt.Println("done")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		fmt.Println(reply(lines.Text()))
		fmt.Println("done")
	}
}

type testServer struct {
	testpb.UnimplementedTestServiceServer
	calls atomic.Int64
}

func (s *testServer) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	s.calls.Add(1)
	return &testpb.Empty{}, nil
}

func serve(args []string) func(string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	if err != nil {
		log.Fatal(err)
	}
	server, implementation, statuses := grpc.NewServer(), &testServer{}, health.NewServer()
	healthpb.RegisterHealthServer(server, statuses)
	testpb.RegisterTestServiceServer(server, implementation)
	go server.Serve(listener)
	return func(line string) string {
		if line != "calls" {
			number, known := healthpb.HealthCheckResponse_ServingStatus_value[line]
			if !known {
				log.Fatalf("%s is not a status", line)
			}
			statuses.SetServingStatus(service, healthpb.HealthCheckResponse_ServingStatus(number))
		}
		return fmt.Sprint(implementation.calls.Load())
	}
}

func dial(addresses []string) func(string) string {
	state := resolver.State{}
	for _, address := range addresses {
		endpoint := resolver.Endpoint{Addresses: []resolver.Address{{Addr: address}}}
		state.Endpoints = append(state.Endpoints, endpoint)
	}
	endpoints := manual.NewBuilderWithScheme("fixed")
	endpoints.InitialState(state)
	config := fmt.Sprintf(`{"loadBalancingConfig": [{"round_robin": {}}], "healthCheckConfig": {"serviceName": %q}}`, service)
	conn, err := grpc.NewClient("fixed:///", grpc.WithResolvers(endpoints), grpc.WithDefaultServiceConfig(config),
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		log.Fatal(err)
	}
	client := testpb.NewTestServiceClient(conn)
	return func(string) string {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		codes := ""
		for range 20 {
			_, err := client.EmptyCall(ctx, &testpb.Empty{})
			codes += fmt.Sprint(uint32(status.Code(err)), " ")
		}
		return codes
	}
}
