// Services of the arenas with dubbo-go, and the stress client of its suite:
//
//	peer server PORT
//	peer stress PORT TPS PARALLEL SECONDS   prints the number of answered calls
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	_ "dubbo.apache.org/dubbo-go/v3/imports"
	"dubbo.apache.org/dubbo-go/v3/protocol"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
	"dubbo.apache.org/dubbo-go/v3/server"
	"github.com/dubbogo/gost/log/logger"

	"triple-es/interop/peer/api"
	"triple-es/interop/peer/benchmark"
	"triple-es/interop/peer/helloworld"
)

func main() {
	logger.SetLoggerLevel("fatal")
	numbers := make([]int, 4)
	for i := range os.Args[2:] {
		number, err := strconv.Atoi(os.Args[2+i])
		if err != nil {
			log.Fatal(err)
		}
		numbers[i] = number
	}
	if os.Args[1] == "stress" {
		stress(numbers[0], numbers[1], numbers[2], time.Duration(numbers[3])*time.Second)
		return
	}
	log.Fatal(serve(numbers[0]))
}

// Sum, Hello and Greeter are exported, as dubbo-go wants.
type Sum struct{}

func (*Sum) GetSum(_ context.Context, request *benchmark.SumRequest) (*benchmark.SumReply, error) {
	return &benchmark.SumReply{Result: request.A + request.B}, nil
}

type Hello struct{}

func (*Hello) SayHello(_ context.Context, request *helloworld.HelloRequest) (*helloworld.HelloReply, error) {
	return &helloworld.HelloReply{Response: request.Request}, nil
}

type Greeter struct{}

func (*Greeter) SayHello(_ context.Context, request *api.HelloRequest) (*api.User, error) {
	return &api.User{Name: "Hello " + request.Name, Id: "12345", Age: 21}, nil
}

func serve(port int) error {
	address := []server.ServerOption{
		server.WithServerProtocol(protocol.WithTriple(), protocol.WithIp("127.0.0.1"), protocol.WithPort(port)),
	}
	srv, err := server.NewServer(address...)
	if err != nil {
		return err
	}
	for handler, info := range map[any]*server.ServiceInfo{
		&Sum{}:     info("benchmark.BenchmarkService", "GetSum", (*Sum).GetSum),
		&Hello{}:   info("helloworld.Greeter", "SayHello", (*Hello).SayHello),
		&Greeter{}: info("api.Greeter", "SayHello", (*Greeter).SayHello),
	} {
		if err := srv.Register(handler, info); err != nil {
			return err
		}
	}
	return srv.Serve()
}

// info is what protoc-gen-go-triple would generate.
func info[H, I, O any](service, method string, run func(H, context.Context, *I) (*O, error)) *server.ServiceInfo {
	return &server.ServiceInfo{
		InterfaceName: service,
		Methods: []server.MethodInfo{{
			Name: method, Type: constant.CallUnary, ReqInitFunc: func() any { return new(I) },
			MethodFunc: func(ctx context.Context, args []any, handler any) (any, error) {
				response, err := run(handler.(H), ctx, args[0].(*I))
				if err != nil {
					return nil, err
				}
				return tri.NewResponse(response), nil
			},
		}},
	}
}

// stress calls at a rate, from so many goroutines, as the suite's client does.
func stress(port, tps, parallel int, duration time.Duration) {
	cli, err := client.NewClient(client.WithClientURL(fmt.Sprintf("tri://127.0.0.1:%d", port)))
	if err != nil {
		log.Fatal(err)
	}
	dialed := &client.ClientInfo{InterfaceName: "api.Greeter", MethodNames: []string{"SayHello"}}
	conn, err := cli.DialWithInfo("api.Greeter", dialed)
	if err != nil {
		log.Fatal(err)
	}
	var answered atomic.Int64
	var group sync.WaitGroup
	end := time.Now().Add(duration)
	pause := time.Duration(parallel) * time.Second / time.Duration(tps)
	for range parallel {
		group.Go(func() {
			for next := time.Now(); next.Before(end); next = next.Add(pause) {
				time.Sleep(time.Until(next))
				user := new(api.User)
				request := &api.HelloRequest{Name: "laurence"}
				if err := conn.CallUnary(context.Background(), []any{request}, user, "SayHello"); err != nil {
					log.Fatal(err)
				}
				if user.Name != "Hello laurence" {
					log.Fatalf("wrong answer: %v", user)
				}
				answered.Add(1)
			}
		})
	}
	group.Wait()
	fmt.Println(answered.Load())
}
