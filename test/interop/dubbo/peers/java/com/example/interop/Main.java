package com.example.interop;

import java.util.function.UnaryOperator;
import org.apache.dubbo.config.ProtocolConfig;
import org.apache.dubbo.config.ServiceConfig;
import org.apache.dubbo.config.SslConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;
import org.apache.dubbo.rpc.service.GenericService;

/**
 * Server and client of Dubbo for the interop matrix.
 *
 * <pre>
 *   server PORT [CERT KEY]      serves the stub of the proto file, as its compiler's documentation says
 *   start PORT                  does the same, and ends when it serves
 *   http-server PORT            serves its interface instead: see HttpService
 *   client PORT [CA CERT KEY]   calls the service with a proto file
 *   plain PORT [CA CERT KEY]    calls the one without
 *   generic PORT [CA CERT KEY]  calls it without its types
 * </pre>
 */
public final class Main {
  public static void main(String[] args) throws Exception {
    int port = Integer.parseInt(args[1]);
    if (args[0].endsWith("server") || args[0].equals("start")) {
      serve(port, args);
    } else {
      call(port, args);
    }
  }

  private static void serve(int port, String[] args) throws Exception {
    ProtocolConfig protocol = new ProtocolConfig("tri", port);
    protocol.setHost("127.0.0.1");
    DubboBootstrap bootstrap = Setup.bootstrap("interop-server");
    if (args.length == 4) {
      SslConfig ssl = new SslConfig();
      ssl.setServerKeyCertChainPath(args[2]);
      ssl.setServerPrivateKeyPath(args[3]);
      bootstrap.ssl(ssl);
      protocol.setSslEnabled(true);
    }
    UnaryOperator<PeerService> served = args[0].equals("http-server") ? HttpService::of : stub -> stub;
    ServiceConfig<PeerService> grouped =
      service(PeerService.class, served.apply(new PeerServiceImpl("blue/1.2.3")));
    grouped.setGroup("blue");
    grouped.setVersion("1.2.3");
    bootstrap
      .protocol(protocol)
      .service(service(PeerService.class, served.apply(new PeerServiceImpl(""))))
      .service(grouped)
      .service(service(PlainService.class, new PlainServiceImpl()))
      .start();
    // The port is there with the first service.
    System.out.println("ready");
    if (args[0].equals("start")) {
      System.exit(0);
    }
    bootstrap.await();
  }

  private static <T> ServiceConfig<T> service(Class<T> type, T implementation) {
    ServiceConfig<T> service = new ServiceConfig<>();
    service.setInterface(type);
    service.setRef(implementation);
    return service;
  }

  private static void call(int port, String[] args) throws Exception {
    DubboBootstrap bootstrap = Setup.bootstrap("interop-client");
    String url = "tri://127.0.0.1:" + port;
    if (args.length == 5) {
      SslConfig ssl = new SslConfig();
      ssl.setClientTrustCertCollectionPath(args[2]);
      // A client without a certificate of its own calls in cleartext, regardless of other options.
      ssl.setClientKeyCertChainPath(args[3]);
      ssl.setClientPrivateKeyPath(args[4]);
      bootstrap.ssl(ssl);
    }
    References references = new References(bootstrap, url);
    Cases cases = new Cases();
    if (args[0].equals("client")) {
      PeerClient.addCases(cases, references);
    } else if (args[0].equals("generic")) {
      GenericCases.addCases(
        cases,
        references.to(GenericService.class, reference -> {
          reference.setInterface(PlainService.class.getName());
          reference.setGeneric("true");
        })
      );
    } else {
      PlainClient.addCases(cases, references.to(PlainService.class, reference -> {}));
    }
    cases.run();
    System.exit(0);
  }

  private Main() {}
}
