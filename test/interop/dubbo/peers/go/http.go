package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
)

// httpCases are those of sub-protocol A, with the client below that of dubbo-go, which itself never chooses it.
func httpCases(port int) map[string]func() error {
	open := func(options ...tri.ClientOption) *tri.Client {
		url := fmt.Sprintf("http://127.0.0.1:%d/%s", port, serviceName)
		return tri.NewClient(&http.Client{Timeout: 10 * time.Second}, url, append(options, tri.WithTriple())...)
	}
	echo := func(options ...tri.ClientOption) func() error {
		return func() error {
			request := &PeerRequest{Text: "Zoë", Number: 9007199254740993, Data: bytes.Repeat([]byte{0, 255}, 1000)}
			response := &PeerResponse{}
			if err := open(options...).CallUnary(context.Background(), tri.NewRequest(request), "Unary", tri.NewResponse(response)); err != nil {
				return err
			}
			if response.Number != request.Number || !bytes.Equal(response.Data, request.Data) {
				return fmt.Errorf("got %v", response)
			}
			return same("Zoë", response.Text)
		}
	}
	return map[string]func() error{
		"json_object": echo(tri.WithProtoJSON()),
		"proto":       echo(),
		"gzip":        echo(tri.WithProtoJSON(), tri.WithSendGzip()),
		"metadata": func() error {
			request, response := tri.NewRequest(&PeerRequest{}), &PeerResponse{}
			request.Header().Set("x-text", "some text")
			received := tri.NewResponse(response)
			if err := open().CallUnary(context.Background(), request, "Unary", received); err != nil {
				return err
			}
			return errors.Join(same("some text", response.Metadata["x-text"]), same("yes", received.Header().Get("x-leading")))
		},
		"trailers": func() error {
			received := tri.NewResponse(&PeerResponse{})
			if err := open().CallUnary(context.Background(), tri.NewRequest(&PeerRequest{}), "Unary", received); err != nil {
				return err
			}
			return same("q83v/w", received.Trailer().Get("x-bytes-bin"))
		},
		"status": func() error {
			for code := int32(1); code <= 16; code++ {
				request := tri.NewRequest(&PeerRequest{Failure: &Failure{Code: code, Message: "no such thing"}})
				err := open().CallUnary(context.Background(), request, "Unary", tri.NewResponse(&PeerResponse{}))
				if err := fails(tri.Code(code), "no such thing", err); err != nil {
					return err
				}
			}
			return nil
		},
		"deadline": func() error {
			ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
			defer cancel()
			err := open().CallUnary(ctx, tri.NewRequest(&PeerRequest{DelayMs: 2000}), "Unary", tri.NewResponse(&PeerResponse{}))
			if tri.CodeOf(err) != tri.CodeDeadlineExceeded {
				return fmt.Errorf("expected deadline_exceeded, got %w", err)
			}
			return nil
		},
		"group_and_version": func() error {
			response := &PeerResponse{}
			grouped := open(tri.WithGroup("blue"), tri.WithVersion("1.2.3"))
			if err := grouped.CallUnary(context.Background(), tri.NewRequest(&PeerRequest{}), "Unary", tri.NewResponse(response)); err != nil {
				return err
			}
			return same("blue/1.2.3", response.Service)
		},
		"unknown_group": func() error {
			err := open(tri.WithGroup("red")).CallUnary(context.Background(), tri.NewRequest(&PeerRequest{}), "Unary", tri.NewResponse(&PeerResponse{}))
			if tri.CodeOf(err) != tri.CodeUnimplemented {
				return fmt.Errorf("expected unimplemented, got %w", err)
			}
			return nil
		},
		"broken_body": func() error {
			err := open(tri.WithCodec(textCodec{"json", `{"text":`})).CallUnary(context.Background(), tri.NewRequest(&PeerRequest{}), "Unary", tri.NewResponse(&PeerResponse{}))
			if tri.CodeOf(err) != tri.CodeInvalidArgument {
				return fmt.Errorf("expected invalid_argument, got %w", err)
			}
			return nil
		},
		"unknown_codec": func() error {
			err := open(tri.WithCodec(textCodec{"x-unknown", "?"})).CallUnary(context.Background(), tri.NewRequest(&PeerRequest{}), "Unary", tri.NewResponse(&PeerResponse{}))
			if tri.CodeOf(err) != tri.CodeUnimplemented {
				return fmt.Errorf("expected unimplemented, got %w", err)
			}
			return nil
		},
	}
}

// textCodec says the same of every message.
type textCodec struct{ name, text string }

func (c textCodec) Name() string                { return c.name }
func (c textCodec) Marshal(any) ([]byte, error) { return []byte(c.text), nil }
func (textCodec) Unmarshal([]byte, any) error   { return nil }
