package com.example.interop;

import static java.util.stream.Collectors.flatMapping;
import static java.util.stream.Collectors.groupingBy;
import static java.util.stream.Collectors.toList;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Stream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.dubbo.common.BaseServiceMetadata;
import org.apache.dubbo.common.URL;
import org.apache.dubbo.common.url.component.URLParam;
import org.apache.dubbo.common.utils.NetUtils;
import org.apache.dubbo.registry.NotifyListener;
import org.apache.dubbo.registry.Registry;
import org.apache.dubbo.registry.RegistryService;
import org.apache.dubbo.registry.client.InstanceAddressURL;
import org.apache.dubbo.registry.client.ServiceDiscovery;
import org.apache.dubbo.registry.client.ServiceDiscoveryFactory;
import org.apache.dubbo.registry.client.event.ServiceInstancesChangedEvent;
import org.apache.dubbo.registry.client.event.listener.ServiceInstancesChangedListener;
import org.apache.dubbo.registry.nacos.NacosNamingServiceWrapper;
import org.apache.dubbo.registry.nacos.util.NacosNamingServiceUtils;

/**
 * The providers and consumers that Dubbo Admin lists, by service: those of the interface level, of which the registry notifies
 * it, and those of the instances of all applications that it finds.
 */
final class AdminLists {
  private static final Set<String> CATEGORIES = Set.of("providers", "consumers", "routers", "configurators");

  /** By category and service. */
  private final Map<String, Map<String, List<URL>>> interfaces = new ConcurrentHashMap<>();

  /** By application and service. */
  private final Map<String, Map<String, List<URL>>> instances = new ConcurrentHashMap<>();

  private final Map<String, ServiceInstancesChangedListener> listeners = new HashMap<>();
  private final ServiceDiscovery discovery;
  private final URL url;
  private CuratorFramework zookeeper;
  private NacosNamingServiceWrapper nacos;

  AdminLists(URL url, Registry registry) {
    this.url = url;
    discovery = discoveryOf(url);
    registry.subscribe(
      new URL("admin", NetUtils.getLocalHost(), 0, "", "interface", "*", "group", "*", "version", "*", "classifier", "*",
        "category", "providers,consumers,routers,configurators", "enabled", "*", "check", "false"),
      new Subscriber()
    );
  }

  private static ServiceDiscovery discoveryOf(URL url) {
    URL own = url.setPath(RegistryService.class.getName());
    return ServiceDiscoveryFactory.getExtension(own).getServiceDiscovery(own);
  }

  /** The providers of a service: those of the application level first. */
  synchronized List<URL> providers(String service) throws Exception {
    for (String application : applications()) {
      if (!listeners.containsKey(application)) listen(application);
    }
    List<URL> all = new ArrayList<>();
    instances.values().forEach(services -> all.addAll(services.getOrDefault(service, List.of())));
    all.addAll(of("providers", service));
    return all;
  }

  List<URL> consumers(String service) {
    return of("consumers", service);
  }

  private List<URL> of(String category, String service) {
    return interfaces.getOrDefault(category, Map.of()).getOrDefault(service, List.of());
  }

  /** The applications of the mapping in ZooKeeper. In Nacos, all services that are not of the interface level. */
  private Set<String> applications() throws Exception {
    Set<String> names = new TreeSet<>();
    if (url.getProtocol().equals("zookeeper")) {
      if (zookeeper == null) {
        zookeeper = CuratorFrameworkFactory.newClient(url.getAddress(), new ExponentialBackoffRetry(1_000, 3));
        zookeeper.start();
      }
      for (String service : zookeeper.getChildren().forPath("/dubbo/mapping")) {
        byte[] content = zookeeper.getData().forPath("/dubbo/mapping/" + service);
        names.addAll(List.of(new String(content, StandardCharsets.UTF_8).split(",")));
      }
      return names;
    }
    if (nacos == null) nacos = NacosNamingServiceUtils.createNamingService(url);
    for (String name : nacos.getServicesOfServer(1, 100, "DEFAULT_GROUP").getData()) {
      if (!CATEGORIES.contains(name.split(":")[0])) names.add(name);
    }
    return names;
  }

  private void listen(String application) {
    ServiceInstancesChangedListener listener = new Listener(application);
    listener.onEvent(new ServiceInstancesChangedEvent(application, discovery.getInstances(application)));
    listeners.put(application, listener);
    discovery.addServiceInstancesChangedListener(listener);
  }

  private static String serviceOf(URL url) {
    String service = url.getOriginalParameter("interface");
    if (service == null || service.isEmpty() || service.equals("*")) service = url.getPath();
    URLParam own = url.getUrlParam();
    return BaseServiceMetadata.buildServiceKey(service, own.getParameter("group"), own.getParameter("version"));
  }

  private static String categoryOf(URL url) {
    // Those of the URL itself: in Nacos, others are of the subscription.
    String category = url.getUrlParam().getParameter("category");
    if (category != null) return category;
    return url.getProtocol().equals("consumer") ? "consumers" : "providers";
  }

  /** Replaces the entries of an interface by those of a notification, which has all of a category. */
  private final class Subscriber implements NotifyListener {
    @Override
    public synchronized void notify(List<URL> urls) {
      Stream<URL> entries = urls.stream().filter(one -> !(one instanceof InstanceAddressURL));
      entries.collect(groupingBy(AdminLists::categoryOf)).forEach((category, found) -> {
        Map<String, List<URL>> services = interfaces.computeIfAbsent(category, name -> new ConcurrentHashMap<>());
        String changed = BaseServiceMetadata.interfaceFromServiceKey(serviceOf(found.get(0)));
        services.keySet().removeIf(service -> BaseServiceMetadata.interfaceFromServiceKey(service).equals(changed));
        found.removeIf(one -> one.getProtocol().equals("empty"));
        services.putAll(found.stream().collect(groupingBy(AdminLists::serviceOf)));
      });
    }
  }

  /** Replaces the services of an application by those of its instances. */
  private final class Listener extends ServiceInstancesChangedListener {
    private final String application;

    Listener(String application) {
      super(Set.of(application), discovery);
      this.application = application;
    }

    @Override
    protected void notifyAddressChanged() {
      instances.put(
        application,
        serviceUrls
          .values()
          .stream()
          .flatMap(List::stream)
          .collect(
            groupingBy(
              one -> one.getProtocolServiceKey().getServiceKeyString(),
              flatMapping(one -> one.getUrls().stream(), toList())
            )
          )
      );
    }
  }
}
