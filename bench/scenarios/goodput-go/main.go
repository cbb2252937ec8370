// Program goodput is grpc-go's server for the scenario of goodput: goodput PORT WORK. It answers a message with itself, after its
// handler has computed for a time, or has waited for a slot. Like servers in Node.js it runs on one CPU at a time.
package main

import (
	"log"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/encoding"
)

const (
	computeTime   = 5 * time.Millisecond
	waitTime      = 20 * time.Millisecond
	maxStreams    = 1000
	rusageThread  = 1
	slotsOfServer = 10
)

var slots = make(chan struct{}, slotsOfServer)

// compute takes a time of the CPU, which other processes of the machine do not shorten.
func compute() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for end := threadTime() + computeTime; threadTime() < end; {
	}
}

func threadTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(rusageThread, &usage); err != nil {
		log.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func wait() {
	slots <- struct{}{}
	time.Sleep(waitTime)
	<-slots
}

// asIs is a codec that leaves messages in binary.
type asIs struct{}

func (asIs) Marshal(message any) ([]byte, error) { return *message.(*[]byte), nil }
func (asIs) Unmarshal(bytes []byte, message any) error {
	*message.(*[]byte) = append([]byte{}, bytes...)
	return nil
}
func (asIs) Name() string { return "proto" }

func main() {
	runtime.GOMAXPROCS(1)
	encoding.RegisterCodec(asIs{})
	work := compute
	if os.Args[2] == "slots" {
		work = wait
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
			var message []byte
			if err := stream.RecvMsg(&message); err != nil {
				return err
			}
			work()
			return stream.SendMsg(&message)
		}),
	)
	log.Fatal(server.Serve(listener))
}
