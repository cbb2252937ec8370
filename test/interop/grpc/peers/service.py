"""The interop test service on grpcio: `service.py <folder with generated messages> <port> [<cert> <key>]`."""

import sys
import time
from concurrent import futures

import grpc

sys.path.insert(0, sys.argv[1])
from grpc_testing_messages import Empty, methods, pb  # noqa: E402

ECHO_INITIAL = "x-grpc-test-echo-initial"
ECHO_TRAILING = "x-grpc-test-echo-trailing-bin"
MAX_MESSAGE_BYTES = 16 * 1024 * 1024


def echo_metadata(context):
    given = context.invocation_metadata()
    initial = [(key, value) for key, value in given if key == ECHO_INITIAL]
    trailing = [(key, value) for key, value in given if key == ECHO_TRAILING]
    if initial:
        context.send_initial_metadata(initial)
    if trailing:
        context.set_trailing_metadata(trailing)


def end_with(status, context):
    if status.code != 0:
        code = next(code for code in grpc.StatusCode if code.value[0] == status.code)
        context.abort(code, status.message)


def payload(size):
    return pb.Payload(body=bytes(size))


def respond(parameters, context):
    for wanted in parameters:
        if wanted.interval_us > 0:
            time.sleep(wanted.interval_us / 1e6)
        if wanted.HasField("compressed") and not wanted.compressed.value:
            context.disable_next_message_compression()
        yield pb.StreamingOutputCallResponse(payload=payload(wanted.size))


def empty_call(request, context):
    return Empty()


def unary_call(request, context):
    if request.response_compressed.value:
        context.set_compression(grpc.Compression.Gzip)
    echo_metadata(context)
    end_with(request.response_status, context)
    return pb.SimpleResponse(payload=payload(request.response_size))


def streaming_output_call(request, context):
    if any(wanted.compressed.value for wanted in request.response_parameters):
        context.set_compression(grpc.Compression.Gzip)
    echo_metadata(context)
    yield from respond(request.response_parameters, context)
    end_with(request.response_status, context)


def streaming_input_call(requests, context):
    size = sum(len(request.payload.body) for request in requests)
    return pb.StreamingInputCallResponse(aggregated_payload_size=size)


def full_duplex_call(requests, context):
    echo_metadata(context)
    for request in requests:
        end_with(request.response_status, context)
        yield from respond(request.response_parameters, context)


HANDLERS = {
    "EmptyCall": (grpc.unary_unary_rpc_method_handler, empty_call),
    "UnaryCall": (grpc.unary_unary_rpc_method_handler, unary_call),
    "StreamingOutputCall": (grpc.unary_stream_rpc_method_handler, streaming_output_call),
    "StreamingInputCall": (grpc.stream_unary_rpc_method_handler, streaming_input_call),
    "FullDuplexCall": (grpc.stream_stream_rpc_method_handler, full_duplex_call),
}


def main(port, cert=None, key=None):
    options = [("grpc.max_receive_message_length", MAX_MESSAGE_BYTES)]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=10), options=options)
    handlers = {
        name: make(run, methods[name][0].FromString, methods[name][1].SerializeToString)
        for name, (make, run) in HANDLERS.items()
    }
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("grpc.testing.TestService", handlers)])
    if cert is None:
        server.add_insecure_port(f"127.0.0.1:{port}")
    else:
        pair = (open(key, "rb").read(), open(cert, "rb").read())
        server.add_secure_port(f"127.0.0.1:{port}", grpc.ssl_server_credentials([pair]))
    server.start()
    server.wait_for_termination()


main(*sys.argv[2:])
