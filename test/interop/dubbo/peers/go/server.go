package main

import (
	"context"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"dubbo.apache.org/dubbo-go/v3/common/constant"
	"dubbo.apache.org/dubbo-go/v3/protocol"
	tri "dubbo.apache.org/dubbo-go/v3/protocol/triple/triple_protocol"
	"dubbo.apache.org/dubbo-go/v3/server"
	dubbotls "dubbo.apache.org/dubbo-go/v3/tls"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
)

const serviceName = "interop.v1.PeerService"

// serve listens until the process ends.
func serve(port int, tls []string) error {
	options := []server.ServerOption{
		server.WithServerProtocol(protocol.WithTriple(), protocol.WithIp("127.0.0.1"), protocol.WithPort(port)),
	}
	if len(tls) == 2 {
		options = append(options, server.WithServerTLSOption(dubbotls.WithCertFile(tls[0]), dubbotls.WithKeyFile(tls[1])))
	}
	srv, err := server.NewServer(options...)
	if err != nil {
		return err
	}
	if err := srv.Register(newPeer(""), serviceInfo()); err != nil {
		return err
	}
	grouped := []server.ServiceOption{server.WithGroup("blue"), server.WithVersion("1.2.3")}
	if err := srv.Register(newPeer("blue/1.2.3"), serviceInfo(), grouped...); err != nil {
		return err
	}
	// Without the serialization it takes calls, and fails to answer.
	if err := srv.RegisterService(&Plain{}, server.WithSerialization(constant.Hessian2Serialization)); err != nil {
		return err
	}
	return srv.Serve()
}

// Peer implements the service. dubbo-go wants the type and its methods to be exported.
type Peer struct {
	selector string
	canceled *sync.Map
}

func newPeer(selector string) *Peer { return &Peer{selector, &sync.Map{}} }

// Reference returns the name by which dubbo-go knows an implementation; it keeps one for each name.
func (p *Peer) Reference() string { return "Peer " + p.selector }

// finish does what a request asks for when its responses have been sent.
func (p *Peer) finish(ctx context.Context, request *PeerRequest) error {
	select {
	case <-ctx.Done():
		p.canceled.Store(request.CallId, true)
		return overError(ctx)
	case <-time.After(time.Duration(request.DelayMs) * time.Millisecond):
	}
	failure := request.Failure
	if failure == nil {
		return nil
	}
	failed := tri.NewError(tri.Code(failure.Code), errors.New(failure.Message))
	if failure.Details {
		detail, err := tri.NewErrorDetail(&errdetails.ErrorInfo{Reason: "PEER", Domain: "interop"})
		if err != nil {
			return err
		}
		failed.AddDetail(detail)
	}
	return failed
}

// overError returns the reason why a call is over, with a code. dubbo-go sends other errors, also the context's own, as status 17.
func overError(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return tri.NewError(tri.CodeDeadlineExceeded, ctx.Err())
	}
	return tri.NewError(tri.CodeCanceled, ctx.Err())
}

func (p *Peer) answer(header http.Header, request *PeerRequest) *PeerResponse {
	metadata := map[string]string{}
	for name, values := range header {
		name = strings.ToLower(name)
		if strings.HasPrefix(name, "x-") {
			metadata[name] = strings.TrimRight(strings.Join(values, ","), "=")
		}
	}
	return &PeerResponse{
		Text:     request.Text,
		Metadata: metadata,
		Service:  p.selector,
		Number:   request.Number,
		Data:     request.Data,
	}
}

func addMetadata(header, trailer http.Header) {
	header.Set("x-leading", "yes")
	trailer.Set("x-trailing", "yes")
	trailer.Set("x-bytes-bin", base64.RawStdEncoding.EncodeToString([]byte{0xab, 0xcd, 0xef, 0xff}))
}

func (p *Peer) Unary(ctx context.Context, request *PeerRequest) (*tri.Response, error) {
	if err := p.finish(ctx, request); err != nil {
		return nil, err
	}
	header, _ := tri.FromIncomingContext(ctx)
	response := tri.NewResponse(p.answer(header, request))
	addMetadata(response.Header(), response.Trailer())
	return response, nil
}

func (p *Peer) ClientStream(ctx context.Context, stream *tri.ClientStream) (*tri.Response, error) {
	var texts []string
	last := &PeerRequest{}
	for {
		request := &PeerRequest{}
		if !stream.Receive(request) {
			break
		}
		texts = append(texts, request.Text)
		last = request
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	if err := p.finish(ctx, last); err != nil {
		return nil, err
	}
	last.Text = strings.Join(texts, ",")
	response := tri.NewResponse(p.answer(stream.RequestHeader(), last))
	addMetadata(response.Header(), response.Trailer())
	return response, nil
}

func (p *Peer) ServerStream(ctx context.Context, request *PeerRequest, stream *tri.ServerStream) error {
	addMetadata(stream.ResponseHeader(), stream.ResponseTrailer())
	header, _ := tri.FromIncomingContext(ctx)
	for i := range int(request.Responses) {
		response := p.answer(header, request)
		response.Text += strconv.Itoa(i)
		if err := stream.Send(response); err != nil {
			return err
		}
	}
	return p.finish(ctx, request)
}

func (p *Peer) BidiStream(ctx context.Context, stream *tri.BidiStream) error {
	addMetadata(stream.ResponseHeader(), stream.ResponseTrailer())
	for {
		request := &PeerRequest{}
		if err := stream.Receive(request); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := p.finish(ctx, request); err != nil {
			return err
		}
		if err := stream.Send(p.answer(stream.RequestHeader(), request)); err != nil {
			return err
		}
	}
}

func (p *Peer) Watch(_ context.Context, request *WatchRequest) (*tri.Response, error) {
	_, canceled := p.canceled.Load(request.CallId)
	return tri.NewResponse(&WatchResponse{Canceled: canceled}), nil
}

// serviceInfo is what protoc-gen-go-triple would generate.
func serviceInfo() *server.ServiceInfo {
	newRequest := func() any { return new(PeerRequest) }
	same := func(stream any) any { return stream }
	return &server.ServiceInfo{
		InterfaceName: serviceName,
		Methods: []server.MethodInfo{
			{
				Name: "Unary", Type: constant.CallUnary, ReqInitFunc: newRequest,
				MethodFunc: func(ctx context.Context, args []any, handler any) (any, error) {
					return result(handler.(*Peer).Unary(ctx, args[0].(*PeerRequest)))
				},
			},
			{
				Name: "ClientStream", Type: constant.CallClientStream, StreamInitFunc: same,
				MethodFunc: func(ctx context.Context, args []any, handler any) (any, error) {
					return result(handler.(*Peer).ClientStream(ctx, args[0].(*tri.ClientStream)))
				},
			},
			{
				Name: "ServerStream", Type: constant.CallServerStream, ReqInitFunc: newRequest, StreamInitFunc: same,
				MethodFunc: func(ctx context.Context, args []any, handler any) (any, error) {
					return nil, handler.(*Peer).ServerStream(ctx, args[0].(*PeerRequest), args[1].(*tri.ServerStream))
				},
			},
			{
				Name: "BidiStream", Type: constant.CallBidiStream, StreamInitFunc: same,
				MethodFunc: func(ctx context.Context, args []any, handler any) (any, error) {
					return nil, handler.(*Peer).BidiStream(ctx, args[0].(*tri.BidiStream))
				},
			},
			{
				Name: "Watch", Type: constant.CallUnary, ReqInitFunc: func() any { return new(WatchRequest) },
				MethodFunc: func(ctx context.Context, args []any, handler any) (any, error) {
					return result(handler.(*Peer).Watch(ctx, args[0].(*WatchRequest)))
				},
			},
		},
	}
}

// result keeps a response that is not there from becoming a pointer that is nil.
func result(response *tri.Response, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return response, nil
}
