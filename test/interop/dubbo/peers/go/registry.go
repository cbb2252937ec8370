package main

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"dubbo.apache.org/dubbo-go/v3"
	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/config_center"
	"dubbo.apache.org/dubbo-go/v3/protocol"
	"dubbo.apache.org/dubbo-go/v3/registry"
	"dubbo.apache.org/dubbo-go/v3/server"
)

var registryTypes = map[string]registry.Option{
	"all":       registry.WithRegisterServiceAndInterface(),
	"instance":  registry.WithRegisterService(),
	"interface": registry.WithRegisterInterface(),
}

// registryName is the name of the service in registries: that of the interface in Java, so that peers find each other.
const registryName = "com.example.interop.PeerService"

// instance connects to a registry, which is given as a URL such as zookeeper://127.0.0.1:2181.
func instance(name, address, level string) (*dubbo.Instance, error) {
	kind, host, _ := strings.Cut(address, "://")
	if kind == "etcd" {
		kind = "etcdv3"
	}
	options := []dubbo.InstanceOption{
		dubbo.WithName(name),
		dubbo.WithRegistry(
			registry.WithRegistry(kind), registry.WithAddress(host), registry.WithTimeout(10*time.Second), registryTypes[level],
		),
	}
	// A registry is not the config center of its own accord, and etcd is none. Others write rules to the group dubbo.
	if kind != "etcdv3" {
		options = append(options, dubbo.WithConfigCenter(
			config_center.WithConfigCenter(kind), config_center.WithAddress(host), config_center.WithGroup("dubbo"),
			config_center.WithDataID(name),
		))
	}
	return dubbo.NewInstance(options...)
}

// provide registers at both levels, and serves until the process ends.
func provide(address, port string) error {
	number, err := strconv.Atoi(port)
	if err != nil {
		return err
	}
	ins, err := instance("peer-go", address, "all")
	if err != nil {
		return err
	}
	srv, err := ins.NewServer(
		server.WithServerProtocol(protocol.WithTriple(), protocol.WithIp("127.0.0.1"), protocol.WithPort(number)),
	)
	if err != nil {
		return err
	}
	info := serviceInfo()
	info.InterfaceName = registryName
	if err := srv.Register(newPeer("go"), info); err != nil {
		return err
	}
	return srv.Serve()
}

// consume finds providers at a level, and prints "done". Then, for each line "CALLS DELAY_MS" on its input, it makes the
// calls, prints the number of answers by service, and "done".
func consume(address, level string) error {
	ins, err := instance("peer-go-consumer", address, level)
	if err != nil {
		return err
	}
	cli, err := ins.NewClient(client.WithClientRequestTimeout(10*time.Second), client.WithClientRetries(0))
	if err != nil {
		return err
	}
	info := &client.ClientInfo{InterfaceName: registryName, MethodNames: []string{"Unary"}}
	conn, err := cli.DialWithInfo(registryName, info)
	if err != nil {
		return err
	}
	fmt.Println("done")
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		var calls, delayMs int
		if _, err := fmt.Sscan(input.Text(), &calls, &delayMs); err != nil {
			return err
		}
		answers := map[string]int{}
		for range calls {
			answers[callOnce(conn)]++
			time.Sleep(time.Duration(delayMs) * time.Millisecond)
		}
		for _, from := range slices.Sorted(maps.Keys(answers)) {
			fmt.Println("answers", from, answers[from])
		}
		fmt.Println("done")
	}
	return input.Err()
}

// callOnce returns the name of the provider, or the error without spaces.
func callOnce(conn *client.Connection) string {
	response := &PeerResponse{}
	if err := conn.CallUnary(context.Background(), []any{&PeerRequest{Text: "x"}}, response, "Unary"); err != nil {
		return "failed:" + strings.Join(strings.Fields(err.Error()), "_")
	}
	if response.Service == "" {
		return "-"
	}
	return response.Service
}
