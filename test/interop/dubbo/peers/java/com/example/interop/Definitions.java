package com.example.interop;

import java.io.PrintStream;
import java.util.List;
import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.dubbo.common.URL;
import org.apache.dubbo.common.utils.JsonUtils;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.metadata.definition.ServiceDefinitionBuilder;
import org.apache.dubbo.metadata.definition.TypeDefinitionBuilder;
import org.apache.dubbo.metadata.definition.model.FullServiceDefinition;
import org.apache.dubbo.metadata.report.MetadataReport;
import org.apache.dubbo.metadata.report.MetadataReportFactory;
import org.apache.dubbo.metadata.report.identifier.MetadataIdentifier;
import org.apache.dubbo.rpc.model.ApplicationModel;
import org.apache.dubbo.rpc.model.FrameworkModel;

/**
 * Reads the definitions of services and of consumers that an application has stored in a registry, with Dubbo's own metadata
 * report: "REGISTRY APPLICATION GROUP VERSION INTERFACE…". Prints a line of JSON for each interface: the definition in the
 * registry, the one that Dubbo makes of the interface, and that of the consumer.
 */
public final class Definitions {
  /** Without a strong reference the logger, and its level, would be collected. */
  private static final Logger ROOT = Logger.getLogger("");

  /** The time for which a definition is awaited, in attempts of 100 ms. */
  private static final int ATTEMPTS = 200;

  public static void main(String[] args) throws Exception {
    PrintStream output = System.out;
    // Dubbo prints to the standard output.
    System.setOut(System.err);
    System.setProperty("dubbo.application.logger", "jdk");
    ROOT.setLevel(Level.SEVERE);
    ApplicationModel application = ApplicationModel.defaultModel();
    application.getApplicationConfigManager().setApplication(new ApplicationConfig("definitions"));
    TypeDefinitionBuilder.initBuilders(FrameworkModel.defaultModel());
    URL url = URL.valueOf(args[0]).addParameter("file-cache", "false").setScopeModel(application);
    MetadataReport report = application
      .getExtensionLoader(MetadataReportFactory.class)
      .getExtension(url.getProtocol())
      .getMetadataReport(url);
    for (int i = 4; i < args.length; i++) {
      Class<?> type = Class.forName(args[i]);
      String provider = read(report, new MetadataIdentifier(type.getName(), args[3], args[2], "provider", args[1]));
      String consumer = read(report, new MetadataIdentifier(type.getName(), args[3], args[2], "consumer", args[1]));
      FullServiceDefinition read = JsonUtils.toJavaObject(provider, FullServiceDefinition.class);
      FullServiceDefinition built = ServiceDefinitionBuilder.buildFullDefinition(type);
      Map<String, String> parameters = JsonUtils.toJavaObject(consumer, Map.class);
      output.println(JsonUtils.toJson(List.of(read, built, parameters)));
    }
    output.flush();
    Runtime.getRuntime().halt(0);
  }

  private static String read(MetadataReport report, MetadataIdentifier identifier) throws InterruptedException {
    for (int left = ATTEMPTS; left > 0; left--) {
      String text = report.getServiceDefinition(identifier);
      if (text != null) return text;
      Thread.sleep(100);
    }
    throw new IllegalStateException("there is no definition of " + identifier);
  }

  private Definitions() {}
}
