import api.SamplesApi;
import benchmark.Benchmark;
import io.grpc.examples.helloworld.HelloReply;
import io.grpc.examples.helloworld.HelloRequest;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/** Services of the arenas with Dubbo for Java and stubs of its compiler: DubboServer PORT. */
public final class DubboServer {
  public static void main(String[] args) {
    System.setProperty("dubbo.application.logger", "jdk");
    Logger.getLogger("").setLevel(Level.SEVERE);
    ApplicationConfig application = new ApplicationConfig("arena");
    application.setQosEnable(false);
    ProtocolConfig protocol = new ProtocolConfig("tri", Integer.parseInt(args[0]));
    protocol.setHost("127.0.0.1");
    DubboBootstrap bootstrap = DubboBootstrap.getInstance()
      .application(application)
      .registry(new RegistryConfig("N/A"))
      .protocol(protocol)
      .service(service(benchmark.BenchmarkService.class, new Sum()))
      .service(service(io.grpc.examples.helloworld.Greeter.class, new Hello()))
      .service(service(api.Greeter.class, new Greeter()))
      .start();
    // The port is there with the first service.
    System.out.println("ready");
    bootstrap.await();
  }

  private static <T> ServiceConfig<T> service(Class<T> type, T implementation) {
    ServiceConfig<T> service = new ServiceConfig<>();
    service.setInterface(type);
    service.setRef(implementation);
    return service;
  }

  private static final class Sum extends benchmark.DubboBenchmarkServiceTriple.BenchmarkServiceImplBase {
    @Override
    public Benchmark.SumReply getSum(Benchmark.SumRequest request) {
      return Benchmark.SumReply.newBuilder().setResult(request.getA() + request.getB()).build();
    }
  }

  private static final class Hello extends io.grpc.examples.helloworld.DubboGreeterTriple.GreeterImplBase {
    @Override
    public HelloReply sayHello(HelloRequest request) {
      return HelloReply.newBuilder().setResponse(request.getRequest()).build();
    }
  }

  private static final class Greeter extends api.DubboGreeterTriple.GreeterImplBase {
    @Override
    public SamplesApi.User sayHello(SamplesApi.HelloRequest request) {
      return SamplesApi.User.newBuilder().setName("Hello " + request.getName()).setId("12345").setAge(21).build();
    }
  }
}
