// Services of the arenas with grpc-go and net/http: peer grpc PORT | http PORT DATASET
package main

import (
	"context"
	"encoding/json"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"

	"google.golang.org/grpc"

	"triple-es/bench/arena/api"
	"triple-es/bench/arena/benchmark"
	"triple-es/bench/arena/helloworld"
)

type sum struct {
	benchmark.UnimplementedBenchmarkServiceServer
}

func (sum) GetSum(_ context.Context, request *benchmark.SumRequest) (*benchmark.SumReply, error) {
	return &benchmark.SumReply{Result: request.A + request.B}, nil
}

type hello struct {
	helloworld.UnimplementedGreeterServer
}

func (hello) SayHello(_ context.Context, request *helloworld.HelloRequest) (*helloworld.HelloReply, error) {
	return &helloworld.HelloReply{Response: request.Request}, nil
}

type greeter struct {
	api.UnimplementedGreeterServer
}

func (greeter) SayHello(_ context.Context, request *api.HelloRequest) (*api.User, error) {
	return &api.User{Name: "Hello " + request.Name, Id: "12345", Age: 21}, nil
}

type item struct {
	ID       int      `json:"id"`
	Name     string   `json:"name"`
	Category string   `json:"category"`
	Price    int      `json:"price"`
	Quantity int      `json:"quantity"`
	Active   bool     `json:"active"`
	Tags     []string `json:"tags"`
	Rating   struct {
		Score int `json:"score"`
		Count int `json:"count"`
	} `json:"rating"`
	Total int `json:"total"`
}

func main() {
	address := "127.0.0.1:" + os.Args[2]
	if os.Args[1] == "http" {
		log.Fatal(serveItems(address, os.Args[3]))
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer()
	benchmark.RegisterBenchmarkServiceServer(server, sum{})
	helloworld.RegisterGreeterServer(server, hello{})
	api.RegisterGreeterServer(server, greeter{})
	log.Fatal(server.Serve(listener))
}

func serveItems(address, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var dataset []item
	if err := json.Unmarshal(text, &dataset); err != nil {
		return err
	}
	http.HandleFunc("GET /json/{count}", func(writer http.ResponseWriter, request *http.Request) {
		count, _ := strconv.Atoi(request.PathValue("count"))
		count = max(0, min(count, len(dataset)))
		m, _ := strconv.Atoi(request.URL.Query().Get("m"))
		items := make([]item, count)
		for i := range items {
			items[i] = dataset[i]
			items[i].Total = items[i].Price * items[i].Quantity * m
		}
		body, err := json.Marshal(map[string]any{"items": items, "count": count})
		if err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		writer.Header().Set("Content-Type", "application/json")
		writer.Write(body)
	})
	return http.ListenAndServe(address, nil)
}
