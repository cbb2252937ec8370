// Program health is gRPC's half of the scenarios of watched health and of load reports: a server with both, or a client.
//
//	health server PORT [UTILIZATION QPS]   each line of the input is a status of the service, or "calls"; prints the number of its calls
//	health client CONFIG ADDRESS...        each line of the input makes 20 calls; prints the codes of their ends
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	_ "google.golang.org/grpc/balancer/weightedroundrobin"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/orca"
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

func (s *testServer) EmptyCall(ctx context.Context, _ *testpb.Empty) (*testpb.Empty, error) {
	s.calls.Add(1)
	// Reports the load of the server in the trailers.
	orca.CallMetricsRecorderFromContext(ctx)
	return &testpb.Empty{}, nil
}

func serve(args []string) func(string) string {
	listener, err := net.Listen("tcp", "127.0.0.1:"+args[0])
	if err != nil {
		log.Fatal(err)
	}
	load := orca.NewServerMetricsRecorder()
	if len(args) == 3 {
		load.SetApplicationUtilization(number(args[1]))
		load.SetQPS(number(args[2]))
	}
	server, implementation, statuses := grpc.NewServer(orca.CallMetricsServerOption(load)), &testServer{}, health.NewServer()
	if err := orca.Register(server, orca.ServiceOptions{ServerMetricsProvider: load}); err != nil {
		log.Fatal(err)
	}
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

func number(text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func dial(args []string) func(string) string {
	state := resolver.State{}
	for _, address := range args[1:] {
		endpoint := resolver.Endpoint{Addresses: []resolver.Address{{Addr: address}}}
		state.Endpoints = append(state.Endpoints, endpoint)
	}
	endpoints := manual.NewBuilderWithScheme("fixed")
	endpoints.InitialState(state)
	conn, err := grpc.NewClient("fixed:///", grpc.WithResolvers(endpoints), grpc.WithDefaultServiceConfig(args[0]),
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
