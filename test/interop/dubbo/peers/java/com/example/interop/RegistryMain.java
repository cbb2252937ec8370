package com.example.interop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.TreeMap;
import java.util.logging.Logger;
import org.apache.dubbo.common.utils.NetUtils;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/**
 * Provider and consumer in a registry.
 *
 * <pre>
 *   provider REGISTRY PORT    registers at both levels, and prints "ready"
 *   consumer REGISTRY LEVEL   finds providers at the level instance or interface, and prints "done"; then, for each line "CALLS
 *                             DELAY_MS" on its input, makes the calls, prints the number of answers by service, and "done"
 * </pre>
 */
public final class RegistryMain {
  private static final Logger ROOT = Logger.getLogger("");

  public static void main(String[] args) throws Exception {
    System.setProperty("dubbo.application.logger", "jdk");
    System.setProperty("dubbo.service.shutdown.wait", "1");
    ROOT.setLevel(java.util.logging.Level.SEVERE);
    Field own = NetUtils.class.getDeclaredField("HOST_ADDRESS");
    own.setAccessible(true);
    own.set(null, "127.0.0.1");
    if (args[0].equals("provider")) provide(args[1], Integer.parseInt(args[2]));
    else consume(args[1], args[2]);
  }

  private static DubboBootstrap bootstrap(String name, String registry) {
    ApplicationConfig application = new ApplicationConfig(name);
    application.setQosEnable(false);
    return DubboBootstrap.getInstance().application(application).registry(new RegistryConfig(registry));
  }

  private static void provide(String registry, int port) {
    ProtocolConfig protocol = new ProtocolConfig("tri", port);
    protocol.setHost("127.0.0.1");
    ServiceConfig<PeerService> service = new ServiceConfig<>();
    service.setInterface(PeerService.class);
    service.setRef(new PeerServiceImpl("java"));
    // By default, the share of a new provider grows for ten minutes.
    service.setWarmup(1);
    DubboBootstrap bootstrap = bootstrap("peer-java", registry).protocol(protocol).service(service);
    bootstrap.start();
    System.out.println("ready");
    bootstrap.await();
  }

  private static void consume(String registry, String level) throws Exception {
    String migration = level.equals("instance") ? "FORCE_APPLICATION" : "FORCE_INTERFACE";
    System.setProperty("dubbo.application.service-discovery.migration", migration);
    ReferenceConfig<PeerService> reference = new ReferenceConfig<>();
    reference.setInterface(PeerService.class);
    reference.setTimeout(10_000);
    reference.setRetries(0);
    bootstrap("peer-java-consumer", registry).reference(reference).start();
    PeerService service = reference.get();
    System.out.println("done");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      Map<String, Integer> answers = new TreeMap<>();
      for (int i = 0; i < Integer.parseInt(words[0]); i++) {
        answers.merge(callOnce(service), 1, Integer::sum);
        Thread.sleep(Integer.parseInt(words[1]));
      }
      answers.forEach((from, count) -> System.out.println("answers " + from + " " + count));
      System.out.println("done");
    }
    System.exit(0);
  }

  /** Returns the name of the provider, or the error and its first cause without spaces. */
  private static String callOnce(PeerService service) {
    try {
      String from = service.unary(PeerRequest.newBuilder().setText("x").build()).getService();
      return from.isEmpty() ? "-" : from;
    } catch (RuntimeException failure) {
      Throwable cause = failure;
      while (cause.getCause() != null) cause = cause.getCause();
      return "failed:" + (failure.getMessage() + " caused by " + cause).replaceAll("\\s+", "_");
    }
  }

  private RegistryMain() {}
}
