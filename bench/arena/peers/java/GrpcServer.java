import api.SamplesApi;
import benchmark.Benchmark;
import com.google.protobuf.Message;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.MethodType;
import io.grpc.ServerServiceDefinition;
import io.grpc.examples.helloworld.HelloReply;
import io.grpc.examples.helloworld.HelloRequest;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.ProtoUtils;
import io.grpc.stub.ServerCalls;
import java.net.InetSocketAddress;
import java.util.function.Function;

/** Services of the arenas with grpc-java: GrpcServer PORT. Handlers that do not block run on the direct executor, the cheapest one. */
public final class GrpcServer {
  public static void main(String[] args) throws Exception {
    NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])))
      .directExecutor()
      .addService(
        service(
          "benchmark.BenchmarkService/GetSum",
          Benchmark.SumRequest.getDefaultInstance(),
          Benchmark.SumReply.getDefaultInstance(),
          request -> Benchmark.SumReply.newBuilder().setResult(request.getA() + request.getB()).build()
        )
      )
      .addService(
        service(
          "helloworld.Greeter/SayHello",
          HelloRequest.getDefaultInstance(),
          HelloReply.getDefaultInstance(),
          request -> HelloReply.newBuilder().setResponse(request.getRequest()).build()
        )
      )
      .addService(
        service(
          "api.Greeter/SayHello",
          SamplesApi.HelloRequest.getDefaultInstance(),
          SamplesApi.User.getDefaultInstance(),
          request ->
            SamplesApi.User.newBuilder().setName("Hello " + request.getName()).setId("12345").setAge(21).build()
        )
      )
      .build()
      .start()
      .awaitTermination();
  }

  /** A service with one method, as its compiler would generate it. */
  private static <I extends Message, O extends Message> ServerServiceDefinition service(
    String path,
    I input,
    O output,
    Function<I, O> run
  ) {
    MethodDescriptor<I, O> method = MethodDescriptor.<I, O>newBuilder(
      ProtoUtils.marshaller(input),
      ProtoUtils.marshaller(output)
    )
      .setType(MethodType.UNARY)
      .setFullMethodName(path)
      .build();
    return ServerServiceDefinition.builder(method.getServiceName())
      .addMethod(
        method,
        ServerCalls.asyncUnaryCall((request, observer) -> {
          observer.onNext(run.apply(request));
          observer.onCompleted();
        })
      )
      .build();
  }
}
