package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"dubbo.apache.org/dubbo-go/v3/client"
	"dubbo.apache.org/dubbo-go/v3/common/constant"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
	dubbotls "dubbo.apache.org/dubbo-go/v3/tls"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

type dialer func(service string, opts ...client.ReferenceOption) (*client.Connection, error)

// call runs every case, and prints a line for each: the name, a tab, and "ok" or what went wrong.
func call(port int, tls []string, services string) error {
	options := []client.ClientOption{
		client.WithClientURL(fmt.Sprintf("tri://127.0.0.1:%d", port)),
		client.WithClientRequestTimeout(10 * time.Second),
		client.WithClientRetries(0),
	}
	if len(tls) == 2 {
		options = append(options, client.WithClientTLSOption(dubbotls.WithCACertFile(tls[0]), dubbotls.WithServerName(tls[1])))
	}
	if services != "client" {
		options = append(options, client.WithClientSerialization(constant.Hessian2Serialization))
	}
	cli, err := client.NewClient(options...)
	if err != nil {
		return err
	}
	if services == "plain" {
		return callPlain(cli)
	}
	if services == "generic" {
		return callGeneric(cli)
	}
	dial := func(service string, opts ...client.ReferenceOption) (*client.Connection, error) {
		info := &client.ClientInfo{
			InterfaceName: service,
			MethodNames:   []string{"Unary", "ClientStream", "ServerStream", "BidiStream", "Watch"},
		}
		return cli.DialWithInfo(service, info, opts...)
	}
	conn, err := dial(serviceName)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		report(name, cases[name](conn, dial))
	}
	return nil
}

// callHTTP does the same over sub-protocol A.
func callHTTP(port int) {
	all := httpCases(port)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		report(name, all[name]())
	}
}

func report(name string, err error) {
	outcome := "ok"
	if err != nil {
		outcome = strings.Join(strings.Fields(err.Error()), " ")
	}
	fmt.Printf("%s\t%s\n", name, outcome)
}

var cases = map[string]func(conn *client.Connection, dial dialer) error{
	"unary": func(conn *client.Connection, _ dialer) error {
		request := &PeerRequest{Text: "Zoë", Number: 9007199254740993, Data: []byte{0, 255}}
		response, err := unary(context.Background(), conn, request)
		if err != nil {
			return err
		}
		if response.Number != request.Number || !bytes.Equal(response.Data, request.Data) {
			return fmt.Errorf("got %v", response)
		}
		return same("Zoë", response.Text)
	},
	"client_streaming": func(conn *client.Connection, _ dialer) error {
		raw, err := conn.CallClientStream(context.Background(), "ClientStream")
		if err != nil {
			return err
		}
		stream := raw.(*tri.ClientStreamForClient)
		for _, text := range []string{"a", "b", "c"} {
			if err := stream.Send(&PeerRequest{Text: text}); err != nil {
				return err
			}
		}
		response := &PeerResponse{}
		if err := stream.CloseAndReceive(tri.NewResponse(response)); err != nil {
			return err
		}
		return same("a,b,c", response.Text)
	},
	"server_streaming": func(conn *client.Connection, _ dialer) error {
		texts, err := serverStream(context.Background(), conn, &PeerRequest{Text: "x", Responses: 3})
		if err != nil {
			return err
		}
		return same("x0,x1,x2", strings.Join(texts, ","))
	},
	"bidi_streaming": func(conn *client.Connection, _ dialer) error {
		raw, err := conn.CallBidiStream(context.Background(), "BidiStream")
		if err != nil {
			return err
		}
		stream := raw.(*tri.BidiStreamForClient)
		for _, text := range []string{"a", "b", "c"} {
			if err := stream.Send(&PeerRequest{Text: text}); err != nil {
				return err
			}
			response := &PeerResponse{}
			if err := stream.Receive(response); err != nil {
				return err
			}
			if err := same(text, response.Text); err != nil {
				return err
			}
		}
		if err := stream.CloseRequest(); err != nil {
			return err
		}
		if err := stream.Receive(&PeerResponse{}); !errors.Is(err, io.EOF) {
			return fmt.Errorf("expected the end, got %w", err)
		}
		return stream.CloseResponse()
	},
	"metadata": func(conn *client.Connection, _ dialer) error {
		ctx := context.WithValue(context.Background(), constant.AttachmentKey, map[string]any{
			"x-text":      "some text",
			"x-bytes-bin": base64.RawStdEncoding.EncodeToString([]byte{0xab, 0xcd, 0xef, 0xff}),
		})
		response, err := unary(ctx, conn, &PeerRequest{})
		if err != nil {
			return err
		}
		if err := same("some text", response.Metadata["x-text"]); err != nil {
			return err
		}
		return same("q83v/w", response.Metadata["x-bytes-bin"])
	},
	"leading_metadata": func(conn *client.Connection, _ dialer) error {
		header := http.Header{}
		option := client.WithResponseHeader(&header)
		if err := conn.CallUnary(context.Background(), []any{&PeerRequest{}}, &PeerResponse{}, "Unary", option); err != nil {
			return err
		}
		return same("yes", header.Get("x-leading"))
	},
	"trailers": func(conn *client.Connection, _ dialer) error {
		trailer := http.Header{}
		option := client.WithResponseTrailer(&trailer)
		if err := conn.CallUnary(context.Background(), []any{&PeerRequest{}}, &PeerResponse{}, "Unary", option); err != nil {
			return err
		}
		if err := same("yes", trailer.Get("x-trailing")); err != nil {
			return err
		}
		data, err := tri.DecodeBinaryHeader(trailer.Get("x-bytes-bin"))
		if err != nil {
			return err
		}
		return same("\xab\xcd\xef\xff", string(data))
	},
	"status": func(conn *client.Connection, _ dialer) error {
		for code := int32(1); code <= 16; code++ {
			_, err := unary(context.Background(), conn, &PeerRequest{Failure: &Failure{Code: code, Message: "no such thing"}})
			if err := fails(tri.Code(code), "no such thing", err); err != nil {
				return err
			}
		}
		return nil
	},
	"status_message": func(conn *client.Connection, _ dialer) error {
		message := "100% wrong: ü\n☺"
		_, err := unary(context.Background(), conn, &PeerRequest{Failure: &Failure{Code: 5, Message: message}})
		return fails(tri.CodeNotFound, message, err)
	},
	"status_of_stream": func(conn *client.Connection, _ dialer) error {
		request := &PeerRequest{Text: "x", Responses: 2, Failure: &Failure{Code: 9, Message: "after two"}}
		texts, err := serverStream(context.Background(), conn, request)
		if err := same("x0,x1", strings.Join(texts, ",")); err != nil {
			return err
		}
		return fails(tri.CodeFailedPrecondition, "after two", err)
	},
	"details": func(conn *client.Connection, _ dialer) error {
		_, err := unary(context.Background(), conn, &PeerRequest{Failure: &Failure{Code: 3, Message: "bad", Details: true}})
		if err := fails(tri.CodeInvalidArgument, "bad", err); err != nil {
			return err
		}
		var failed *tri.Error
		errors.As(err, &failed)
		if len(failed.Details()) != 1 {
			return fmt.Errorf("got %d details", len(failed.Details()))
		}
		detail, err := failed.Details()[0].Value()
		if err != nil {
			return err
		}
		return same("PEER", detail.(*errdetails.ErrorInfo).Reason)
	},
	"deadline": func(conn *client.Connection, _ dialer) error {
		return late(conn, "")
	},
	"deadline_at_the_server": func(conn *client.Connection, _ dialer) error {
		if err := late(conn, "deadline of dubbo-go"); err != nil {
			return err
		}
		return seen(conn, "deadline of dubbo-go")
	},
	"cancel": func(conn *client.Connection, _ dialer) error {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		raw, err := conn.CallServerStream(ctx, &PeerRequest{Responses: 1, DelayMs: 5000, CallId: "cancel of dubbo-go"}, "ServerStream")
		if err != nil {
			return err
		}
		stream := raw.(*tri.ServerStreamForClient)
		if !stream.Receive(&PeerResponse{}) {
			return stream.Err()
		}
		cancel()
		if stream.Receive(&PeerResponse{}) || tri.CodeOf(stream.Err()) != tri.CodeCanceled {
			return fmt.Errorf("expected canceled, got %w", stream.Err())
		}
		return seen(conn, "cancel of dubbo-go")
	},
	"group_and_version": func(_ *client.Connection, dial dialer) error {
		conn, err := dial(serviceName, client.WithGroup("blue"), client.WithVersion("1.2.3"))
		if err != nil {
			return err
		}
		response, err := unary(context.Background(), conn, &PeerRequest{})
		if err != nil {
			return err
		}
		return same("blue/1.2.3", response.Service)
	},
	"unknown_group": func(_ *client.Connection, dial dialer) error {
		return missed(dial(serviceName, client.WithGroup("red"), client.WithVersion("1.2.3")))
	},
	"unknown_version": func(_ *client.Connection, dial dialer) error {
		return missed(dial(serviceName, client.WithGroup("blue"), client.WithVersion("9.9.9")))
	},
	"unknown_service": func(_ *client.Connection, dial dialer) error {
		return missed(dial("interop.v1.Missing"))
	},
	"large_message": func(conn *client.Connection, _ dialer) error {
		response, err := unary(context.Background(), conn, &PeerRequest{Data: bytes.Repeat([]byte{1, 2, 3, 4}, 500_000)})
		if err != nil {
			return err
		}
		return same("2000000", fmt.Sprint(len(response.Data)))
	},
}

func unary(ctx context.Context, conn *client.Connection, request *PeerRequest) (*PeerResponse, error) {
	response := &PeerResponse{}
	return response, conn.CallUnary(ctx, []any{request}, response, "Unary")
}

func serverStream(ctx context.Context, conn *client.Connection, request *PeerRequest) ([]string, error) {
	raw, err := conn.CallServerStream(ctx, request, "ServerStream")
	if err != nil {
		return nil, err
	}
	stream := raw.(*tri.ServerStreamForClient)
	var texts []string
	for {
		response := &PeerResponse{}
		if !stream.Receive(response) {
			return texts, errors.Join(stream.Err(), stream.Close())
		}
		texts = append(texts, response.Text)
	}
}

// seen waits until the server says that a call has been left.
func seen(conn *client.Connection, callID string) error {
	for range 100 {
		response := &WatchResponse{}
		if err := conn.CallUnary(context.Background(), []any{&WatchRequest{CallId: callID}}, response, "Watch"); err != nil {
			return err
		}
		if response.Canceled {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the server did not see the end of the call")
}

// late makes a call whose deadline is long before its response.
func late(conn *client.Connection, callID string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := unary(ctx, conn, &PeerRequest{DelayMs: 2000, CallId: callID}); tri.CodeOf(err) != tri.CodeDeadlineExceeded {
		return fmt.Errorf("expected deadline_exceeded, got %w", err)
	}
	return nil
}

func missed(conn *client.Connection, err error) error {
	if err != nil {
		return err
	}
	if _, err = unary(context.Background(), conn, &PeerRequest{}); tri.CodeOf(err) != tri.CodeUnimplemented {
		return fmt.Errorf("expected unimplemented, got %w", err)
	}
	return nil
}

func fails(code tri.Code, message string, err error) error {
	var failed *tri.Error
	if !errors.As(err, &failed) || failed.Code() != code || failed.Message() != message {
		return fmt.Errorf("expected %v %q, got %w", code, message, err)
	}
	return nil
}

func same(expected, actual string) error {
	if expected != actual {
		return fmt.Errorf("expected %q, got %q", expected, actual)
	}
	return nil
}
