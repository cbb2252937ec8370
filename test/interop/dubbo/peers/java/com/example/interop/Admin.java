package com.example.interop;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.dubbo.common.BaseServiceMetadata;
import org.apache.dubbo.common.URL;
import org.apache.dubbo.common.config.configcenter.DynamicConfiguration;
import org.apache.dubbo.common.config.configcenter.DynamicConfigurationFactory;
import org.apache.dubbo.common.utils.JsonUtils;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.metadata.definition.ServiceDefinitionBuilder;
import org.apache.dubbo.metadata.definition.TypeDefinitionBuilder;
import org.apache.dubbo.metadata.definition.model.FullServiceDefinition;
import org.apache.dubbo.metadata.report.MetadataReport;
import org.apache.dubbo.metadata.report.MetadataReportFactory;
import org.apache.dubbo.metadata.report.identifier.MetadataIdentifier;
import org.apache.dubbo.registry.Registry;
import org.apache.dubbo.registry.RegistryFactory;
import org.apache.dubbo.registry.client.InstanceAddressURL;
import org.apache.dubbo.rpc.model.ApplicationModel;
import org.apache.dubbo.rpc.model.FrameworkModel;
import org.apache.dubbo.rpc.service.GenericService;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.Yaml;

/**
 * Reads and writes a registry as the Java version of Dubbo Admin (0.6) does, by the same calls of Dubbo's classes with the same
 * URLs and keys: "REGISTRY". Each line on its input is an array in JSON, of a command and its arguments:
 *
 * <pre>
 *   ["service", SERVICE]                            the providers and consumers
 *   ["definition", SERVICE, SIDE, APPLICATION]      the definition in the metadata report; null if there is none
 *   ["definition", INTERFACE]                       the definition that Dubbo makes of an interface
 *   ["test", SERVICE, ADDRESS, [[METHOD, TYPES, ARGUMENTS]…]]   the results of generic calls of a provider, or their errors; of
 *                                                   any one if the address is null. Admin makes a reference for each call
 *   ["rule", KEY, RULE]                             writes a rule to the config center; if it is null, removes it
 *   ["register", URL], ["unregister", URL]          the entry of a rule for Dubbo 2.6
 * </pre>
 *
 * A service is "[GROUP/]INTERFACE[:VERSION]". Prints "done" when it is ready; for each line, the result in JSON, or the error
 * after "failed: ", and "done".
 */
public final class Admin {
  private final URL url;
  private final Registry registry;
  private final AdminLists lists;
  private final MetadataReport report;
  private final DynamicConfiguration center;

  private Admin(String address) {
    ApplicationModel application = ApplicationModel.defaultModel();
    TypeDefinitionBuilder.initBuilders(FrameworkModel.defaultModel());
    url = URL.valueOf(address)
      .addParameter("enable-empty-protection", "false")
      .addParameter("file-cache", "false")
      .setScopeModel(application);
    registry = application.getExtensionLoader(RegistryFactory.class).getAdaptiveExtension().getRegistry(url);
    lists = new AdminLists(url, registry);
    String protocol = url.getProtocol();
    report = application.getExtensionLoader(MetadataReportFactory.class).getExtension(protocol).getMetadataReport(url);
    center = application
      .getExtensionLoader(DynamicConfigurationFactory.class)
      .getExtension(protocol)
      .getDynamicConfiguration(url);
  }

  public static void main(String[] args) throws Exception {
    PrintStream output = System.out;
    // Dubbo prints to the standard output.
    System.setOut(System.err);
    // Services of Nacos are listed again and again, by default every 30 s.
    System.setProperty("nacos.service.names.lookup.interval", "1");
    Setup.bootstrap("dubbo-admin");
    Admin admin = new Admin(args[0]);
    ObjectMapper json = new ObjectMapper();
    output.println("done");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      try {
        output.println(json.writeValueAsString(admin.run(json.readValue(line, List.class))));
      } catch (Exception error) {
        output.println("failed: " + error.toString().replaceAll("\\s+", " "));
      }
      output.println("done");
    }
    Runtime.getRuntime().halt(0);
  }

  private Object run(List<?> words) throws Exception {
    String name = (String) words.get(1);
    switch ((String) words.get(0)) {
      case "service":
        return Map.of(
          "providers", lists.providers(name).stream().map(Admin::show).toArray(),
          "consumers", lists.consumers(name).stream().map(Admin::show).toArray()
        );
      case "definition":
        if (words.size() == 2) return ServiceDefinitionBuilder.buildFullDefinition(Class.forName(name));
        return define(name, (String) words.get(2), (String) words.get(3));
      case "test":
        return test(name, (String) words.get(2), (List<?>) words.get(3));
      case "rule":
        boolean isDone = words.get(2) == null
          ? center.removeConfig(name, DynamicConfiguration.DEFAULT_GROUP)
          : center.publishConfig(name, DynamicConfiguration.DEFAULT_GROUP, write(words.get(2)));
        // Dubbo logs the error.
        if (!isDone) throw new IllegalStateException("the rule " + name + " was not written");
        return true;
      case "register":
        registry.register(URL.valueOf(name));
        return true;
      case "unregister":
        registry.unregister(URL.valueOf(name));
        return true;
      default:
        throw new IllegalArgumentException(words.toString());
    }
  }

  private static Map<String, String> show(URL one) {
    Map<String, String> shown = new LinkedHashMap<>();
    boolean isInstance = one instanceof InstanceAddressURL;
    shown.put("level", isInstance ? "instance" : "interface");
    shown.put("address", one.getAddress());
    shown.put(
      "application",
      isInstance ? ((InstanceAddressURL) one).getInstance().getServiceName() : one.getParameter("application")
    );
    shown.put("release", one.getParameter("release"));
    return shown;
  }

  private Object define(String service, String side, String application) {
    String version = BaseServiceMetadata.versionFromServiceKey(service);
    String group = BaseServiceMetadata.groupFromServiceKey(service);
    String interfaceName = BaseServiceMetadata.interfaceFromServiceKey(service);
    String text = report.getServiceDefinition(
      new MetadataIdentifier(interfaceName, version, group, side, application)
    );
    return JsonUtils.toJavaObject(text, side.equals("provider") ? FullServiceDefinition.class : Map.class);
  }

  private Object test(String service, String address, List<?> calls) throws Exception {
    ReferenceConfig<GenericService> reference = new ReferenceConfig<>();
    reference.setGeneric("true");
    reference.setRegistry(new RegistryConfig(url.getProtocol() + "://" + url.getAddress()));
    reference.setInterface(BaseServiceMetadata.interfaceFromServiceKey(service));
    reference.setVersion(BaseServiceMetadata.versionFromServiceKey(service));
    reference.setGroup(BaseServiceMetadata.groupFromServiceKey(service));
    reference.setSticky(false);
    lists
      .providers(service)
      .stream()
      .filter(one -> one.getAddress().equals(address))
      .findFirst()
      .ifPresent(one -> reference.setUrl(one.toFullString()));
    try {
      GenericService called = reference.get();
      return calls.stream().map(call -> call(called, (List<?>) call)).toArray();
    } finally {
      reference.destroy();
    }
  }

  private static Object call(GenericService service, List<?> call) {
    // The parameters of a type are left out.
    String[] types = ((List<?>) call.get(1)).stream().map(type -> ((String) type).split("<")[0]).toArray(String[]::new);
    try {
      return service.$invoke((String) call.get(0), types, ((List<?>) call.get(2)).toArray());
    } catch (RuntimeException error) {
      return "failed: " + error;
    }
  }

  private static String write(Object rule) {
    DumperOptions options = new DumperOptions();
    options.setDefaultFlowStyle(DumperOptions.FlowStyle.BLOCK);
    return new Yaml(options).dump(rule);
  }
}
