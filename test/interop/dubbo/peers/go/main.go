// Server and client of dubbo-go for the interop matrix.
//
//	peer server PORT [CERT KEY]
//	peer client PORT [CA SERVERNAME]   calls the service with a proto file
//	peer plain PORT [CA SERVERNAME]    calls the one without
//	peer generic PORT [CA SERVERNAME]  calls it without its types
//	peer http PORT
//	peer provider REGISTRY PORT      registers at both levels
//	peer consumer REGISTRY LEVEL     calls as the lines of its input say
package main

import (
	"fmt"
	"os"
	"strconv"

	_ "dubbo.apache.org/dubbo-go/v3/imports"
	"github.com/dubbogo/gost/log/logger"
)

func main() {
	logger.SetLoggerLevel("fatal")
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 3 && args[0] == "provider" {
		return provide(args[1], args[2])
	}
	if len(args) == 3 && args[0] == "consumer" {
		return consume(args[1], args[2])
	}
	if len(args) != 2 && len(args) != 4 {
		return fmt.Errorf("usage: peer server PORT [CERT KEY] | client PORT [CA SERVERNAME] | plain|generic PORT [CA SERVERNAME] | http PORT | provider REGISTRY PORT | consumer REGISTRY LEVEL")
	}
	port, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	if args[0] == "server" {
		return serve(port, args[2:])
	}
	if args[0] == "http" {
		callHTTP(port)
		return nil
	}
	return call(port, args[2:], args[0])
}
