// Program telemetry makes the calls of telemetry.test.ts with grpc-go, and prints the metrics and the spans of its
// OpenTelemetry plug-in as JSON.
//
//	telemetry server PORT   serves until a line arrives, then prints those of the server
//	telemetry client PORT   makes the calls when a line arrives, then prints those of the client
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	experimental "google.golang.org/grpc/experimental/opentelemetry"
	testpb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/stats/opentelemetry"
	"google.golang.org/grpc/status"
)

const config = `{"methodConfig":[{"name":[{"service":"grpc.testing.TestService"}],"retryPolicy":{"maxAttempts":3,
"initialBackoff":"0.001s","maxBackoff":"0.001s","backoffMultiplier":1,"retryableStatusCodes":["UNAVAILABLE"]}}]}`

func main() {
	reader := metric.NewManualReader()
	provider := metric.NewMeterProvider(metric.WithReader(reader))
	exporter := tracetest.NewInMemoryExporter()
	options := opentelemetry.Options{
		MetricsOptions: opentelemetry.MetricsOptions{MeterProvider: provider},
		TraceOptions: experimental.TraceOptions{
			TracerProvider:    trace.NewTracerProvider(trace.WithSyncer(exporter)),
			TextMapPropagator: propagation.TraceContext{},
		},
	}
	run := func() {}
	if os.Args[1] == "server" {
		serve(os.Args[2], opentelemetry.ServerOption(options))
	} else {
		run = func() { call(os.Args[2], opentelemetry.DialOption(options)) }
	}
	fmt.Println("done")
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println("done") {
		run()
		text, err := json.Marshal(exported{export(reader), exportSpans(exporter.GetSpans())})
		check(err)
		fmt.Println(string(text))
	}
}

type point struct {
	Attributes map[string]string `json:"attributes"`
	Count      uint64            `json:"count"`
	Sum        float64           `json:"sum"`
	Buckets    []uint64          `json:"buckets,omitempty"`
}

type instrument struct {
	Name        string    `json:"name"`
	Unit        string    `json:"unit"`
	Description string    `json:"description"`
	Bounds      []float64 `json:"bounds,omitempty"`
	Points      []point   `json:"points"`
}

type span struct {
	Name       string         `json:"name"`
	Kind       string         `json:"kind"`
	Status     string         `json:"status"`
	Parent     string         `json:"parent"`
	Attributes map[string]any `json:"attributes"`
}

type exported struct {
	Metrics []instrument `json:"metrics"`
	Spans   []span       `json:"spans"`
}

func exportSpans(stubs tracetest.SpanStubs) []span {
	names := map[string]string{}
	for _, one := range stubs {
		names[one.SpanContext.SpanID().String()] = one.Name
	}
	spans := []span{}
	for _, one := range stubs {
		attributes := map[string]any{}
		for _, pair := range one.Attributes {
			attributes[string(pair.Key)] = pair.Value.AsInterface()
		}
		parent := names[one.Parent.SpanID().String()]
		if one.Parent.IsRemote() {
			parent = "remote"
		}
		spans = append(spans, span{one.Name, one.SpanKind.String(), one.Status.Code.String(), parent, attributes})
	}
	return spans
}

func export(reader metric.Reader) []instrument {
	var all metricdata.ResourceMetrics
	check(reader.Collect(context.Background(), &all))
	instruments := []instrument{}
	for _, scope := range all.ScopeMetrics {
		for _, one := range scope.Metrics {
			found := instrument{Name: one.Name, Unit: one.Unit, Description: one.Description}
			switch data := one.Data.(type) {
			case metricdata.Sum[int64]:
				for _, at := range data.DataPoints {
					found.Points = append(found.Points, point{Attributes: labels(at.Attributes), Count: uint64(at.Value)})
				}
			case metricdata.Histogram[int64]:
				addPoints(&found, data.DataPoints)
			case metricdata.Histogram[float64]:
				addPoints(&found, data.DataPoints)
			}
			instruments = append(instruments, found)
		}
	}
	return instruments
}

func addPoints[N int64 | float64](to *instrument, points []metricdata.HistogramDataPoint[N]) {
	for _, at := range points {
		to.Bounds = at.Bounds
		to.Points = append(to.Points, point{labels(at.Attributes), at.Count, float64(at.Sum), at.BucketCounts})
	}
}

func labels(set attribute.Set) map[string]string {
	found := map[string]string{}
	for _, one := range set.ToSlice() {
		found[string(one.Key)] = one.Value.AsString()
	}
	return found
}

func call(port string, option grpc.DialOption) {
	insecureOption := grpc.WithTransportCredentials(insecure.NewCredentials())
	connection, err := grpc.NewClient("127.0.0.1:"+port, insecureOption, option, grpc.WithDefaultServiceConfig(config))
	check(err)
	defer connection.Close()
	client := testpb.NewTestServiceClient(connection)
	background := context.Background()
	for i := range 20 {
		client.EmptyCall(background, &testpb.Empty{})
		client.UnaryCall(background, &testpb.SimpleRequest{Payload: payload(i * 700), ResponseSize: int32(i * 300)})
		code := int32(i%16 + 1)
		client.UnaryCall(background, &testpb.SimpleRequest{ResponseStatus: &testpb.EchoStatus{Code: code, Message: "no"}})
	}
	for i := range 10 {
		parameters := []*testpb.ResponseParameters{{Size: int32(i * 1000)}, {Size: 1}, {Size: 2}}
		output, err := client.StreamingOutputCall(background, &testpb.StreamingOutputCallRequest{ResponseParameters: parameters})
		check(err)
		drain(output.Recv)
		input, err := client.StreamingInputCall(background)
		check(err)
		for range 3 {
			check(input.Send(&testpb.StreamingInputCallRequest{Payload: payload(i * 1000)}))
		}
		_, err = input.CloseAndRecv()
		check(err)
		duplex, err := client.FullDuplexCall(background)
		check(err)
		for size := range 2 {
			parameters := []*testpb.ResponseParameters{{Size: int32(size)}}
			check(duplex.Send(&testpb.StreamingOutputCallRequest{ResponseParameters: parameters}))
		}
		check(duplex.CloseSend())
		drain(duplex.Recv)
	}
	for range 5 {
		client.UnimplementedCall(background, &testpb.Empty{})
		limited, cancel := context.WithTimeout(background, 20*time.Millisecond)
		duplex, err := client.FullDuplexCall(limited)
		if err == nil {
			drain(duplex.Recv)
		}
		cancel()
	}
}

func payload(size int) *testpb.Payload { return &testpb.Payload{Body: make([]byte, size)} }

func drain[Message any](receive func() (Message, error)) {
	for {
		if _, err := receive(); err != nil {
			return
		}
	}
}

type testServer struct {
	testpb.UnimplementedTestServiceServer
}

func serve(port string, option grpc.ServerOption) {
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	check(err)
	server := grpc.NewServer(option)
	testpb.RegisterTestServiceServer(server, testServer{})
	go server.Serve(listener)
}

func (testServer) EmptyCall(context.Context, *testpb.Empty) (*testpb.Empty, error) {
	return &testpb.Empty{}, nil
}

func (testServer) UnaryCall(_ context.Context, request *testpb.SimpleRequest) (*testpb.SimpleResponse, error) {
	if wanted := request.GetResponseStatus(); wanted != nil {
		return nil, status.Error(codes.Code(wanted.Code), wanted.Message)
	}
	return &testpb.SimpleResponse{Payload: payload(int(request.ResponseSize))}, nil
}

func (testServer) StreamingOutputCall(request *testpb.StreamingOutputCallRequest, stream testpb.TestService_StreamingOutputCallServer) error {
	return respond(request, stream.Send)
}

func (testServer) StreamingInputCall(stream testpb.TestService_StreamingInputCallServer) error {
	size := 0
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return stream.SendAndClose(&testpb.StreamingInputCallResponse{AggregatedPayloadSize: int32(size)})
		}
		if err != nil {
			return err
		}
		size += len(request.GetPayload().GetBody())
	}
}

func (testServer) FullDuplexCall(stream testpb.TestService_FullDuplexCallServer) error {
	for {
		request, err := stream.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := respond(request, stream.Send); err != nil {
			return err
		}
	}
}

func respond(request *testpb.StreamingOutputCallRequest, send func(*testpb.StreamingOutputCallResponse) error) error {
	for _, parameters := range request.ResponseParameters {
		if err := send(&testpb.StreamingOutputCallResponse{Payload: payload(int(parameters.Size))}); err != nil {
			return err
		}
	}
	return nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
