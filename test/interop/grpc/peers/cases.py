"""
The interop cases on grpcio: `cases.py <folder with generated messages>`. A line of the input has `<case> <port> [<ca> <servername>]`.
The answer is "passed" or the stack of the exception, and then "done".
"""

import sys
import threading
import traceback

import grpc

sys.path.insert(0, sys.argv[1])
from grpc_testing_messages import Empty, methods, pb  # noqa: E402

REQUEST_SIZES = [27182, 8, 1828, 45904]
RESPONSE_SIZES = [31415, 9, 2653, 58979]
SPECIAL_MESSAGE = "\t\ntest with whitespace\r\nand Unicode BMP \u263a and non-BMP \U0001f608\t\n"


def payload(size):
    return pb.Payload(body=bytes(size))


def yes(value):
    return pb.BoolValue(value=value)


def duplex(response_size, request_size, interval_us=0):
    wanted = pb.ResponseParameters(size=response_size, interval_us=interval_us)
    return pb.StreamingOutputCallRequest(response_parameters=[wanted], payload=payload(request_size))


def equal(actual, expected):
    assert actual == expected, f"{actual!r} is not {expected!r}"


def failure(code, run):
    try:
        run()
    except grpc.RpcError as error:
        equal(error.code(), code)
        return error
    raise AssertionError(f"the call succeeded, but had to fail with {code}")


class Cases:
    def __init__(self, channel):
        def method(make, name, service="TestService"):
            request, response = methods[name]
            path = f"/grpc.testing.{service}/{name}"
            return make(path, request_serializer=request.SerializeToString, response_deserializer=response.FromString)

        self.empty_call = method(channel.unary_unary, "EmptyCall")
        self.unary_call = method(channel.unary_unary, "UnaryCall")
        self.output_call = method(channel.unary_stream, "StreamingOutputCall")
        self.input_call = method(channel.stream_unary, "StreamingInputCall")
        self.duplex_call = method(channel.stream_stream, "FullDuplexCall")
        self.unknown_method = method(channel.unary_unary, "UnimplementedCall")
        self.unknown_service = method(channel.unary_unary, "UnimplementedCall", "UnimplementedService")

    def large(self, compression=None, **more):
        request = pb.SimpleRequest(response_size=314159, payload=payload(271828), **more)
        equal(len(self.unary_call(request, compression=compression).payload.body), 314159)

    def empty_unary(self):
        equal(self.empty_call(Empty()), Empty())

    def large_unary(self):
        self.large()

    def client_compressed_unary(self):
        failure(grpc.StatusCode.INVALID_ARGUMENT, lambda: self.large(expect_compressed=yes(True)))
        self.large(compression=grpc.Compression.Gzip, expect_compressed=yes(True))
        self.large(compression=grpc.Compression.Deflate, expect_compressed=yes(True))
        self.large(expect_compressed=yes(False))

    def server_compressed_unary(self):
        self.large(response_compressed=yes(True))
        self.large(response_compressed=yes(False))

    def client_streaming(self):
        requests = (pb.StreamingInputCallRequest(payload=payload(size)) for size in REQUEST_SIZES)
        equal(self.input_call(requests).aggregated_payload_size, 74922)

    def client_compressed_streaming(self):
        def requests():
            yield pb.StreamingInputCallRequest(expect_compressed=yes(True), payload=payload(27182))

        failure(grpc.StatusCode.INVALID_ARGUMENT, lambda: self.input_call(requests()))
        response = self.input_call(requests(), compression=grpc.Compression.Gzip)
        equal(response.aggregated_payload_size, 27182)

    def server_streaming(self):
        wanted = [pb.ResponseParameters(size=size) for size in RESPONSE_SIZES]
        self.output(wanted, RESPONSE_SIZES)

    def server_compressed_streaming(self):
        sizes = [31415, 92653]
        wanted = [pb.ResponseParameters(size=size, compressed=yes(size == 31415)) for size in sizes]
        self.output(wanted, sizes)

    def output(self, wanted, sizes):
        responses = self.output_call(pb.StreamingOutputCallRequest(response_parameters=wanted))
        equal([len(response.payload.body) for response in responses], sizes)

    def ping_pong(self):
        answered = threading.Semaphore(0)

        def requests():
            for response_size, request_size in zip(RESPONSE_SIZES, REQUEST_SIZES):
                yield duplex(response_size, request_size)
                answered.acquire()

        sizes = []
        for response in self.duplex_call(requests()):
            sizes.append(len(response.payload.body))
            answered.release()
        equal(sizes, RESPONSE_SIZES)

    def empty_stream(self):
        equal(list(self.duplex_call(iter(()))), [])

    def custom_metadata(self):
        initial = ("x-grpc-test-echo-initial", "test_initial_metadata_value")
        trailing = ("x-grpc-test-echo-trailing-bin", b"\xab\xab\xab")
        request = pb.SimpleRequest(response_size=314159, payload=payload(271828))
        _, unary = self.unary_call.with_call(request, metadata=(initial, trailing))
        stream = self.duplex_call(iter([duplex(314159, 271828)]), metadata=(initial, trailing))
        equal([len(response.payload.body) for response in stream], [314159])
        for call in (unary, stream):
            equal(dict(call.initial_metadata()).get(initial[0]), initial[1])
            equal(dict(call.trailing_metadata()).get(trailing[0]), trailing[1])

    def status_code_and_message(self):
        status = pb.EchoStatus(code=2, message="test status message")
        unary = lambda: self.unary_call(pb.SimpleRequest(response_status=status))
        stream = lambda: list(self.duplex_call(iter([pb.StreamingOutputCallRequest(response_status=status)])))
        for run in (unary, stream):
            equal(failure(grpc.StatusCode.UNKNOWN, run).details(), status.message)

    def special_status_message(self):
        status = pb.EchoStatus(code=2, message=SPECIAL_MESSAGE)
        run = lambda: self.unary_call(pb.SimpleRequest(response_status=status))
        equal(failure(grpc.StatusCode.UNKNOWN, run).details(), SPECIAL_MESSAGE)

    def unimplemented_method(self):
        failure(grpc.StatusCode.UNIMPLEMENTED, lambda: self.unknown_method(Empty()))

    def unimplemented_service(self):
        failure(grpc.StatusCode.UNIMPLEMENTED, lambda: self.unknown_service(Empty()))

    def cancel_after_begin(self):
        begun = threading.Event()

        def requests():
            begun.wait()
            yield from ()

        call = self.input_call.future(requests())
        call.cancel()
        begun.set()
        equal(call.code(), grpc.StatusCode.CANCELLED)

    def cancel_after_first_response(self):
        finish = threading.Event()

        def requests():
            yield duplex(31415, 27182)
            finish.wait()

        call = self.duplex_call(requests())
        equal(len(next(call).payload.body), 31415)
        call.cancel()
        finish.set()
        failure(grpc.StatusCode.CANCELLED, lambda: next(call))

    def timeout_on_sleeping_server(self):
        request = duplex(31415, 27182, interval_us=1000000)
        failure(grpc.StatusCode.DEADLINE_EXCEEDED, lambda: list(self.duplex_call(iter([request]), timeout=0.001)))

    def very_large_request(self):
        request = pb.SimpleRequest(response_size=10, payload=payload(10485760))
        equal(len(self.unary_call(request).payload.body), 10)


def run(case, port, ca=None, servername=None):
    target = f"127.0.0.1:{port}"
    if ca is None:
        channel = grpc.insecure_channel(target)
    else:
        trusted = grpc.ssl_channel_credentials(open(ca, "rb").read())
        channel = grpc.secure_channel(target, trusted, [("grpc.ssl_target_name_override", servername)])
    with channel:
        getattr(Cases(channel), case)()


print("done", flush=True)
for line in sys.stdin:
    try:
        run(*line.split())
        print("passed")
    except Exception:
        traceback.print_exc(file=sys.stdout)
    print("done", flush=True)
