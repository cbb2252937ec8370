package com.example.interop;

import java.util.function.Consumer;
import org.apache.dubbo.config.ReferenceConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/** Proxies of services at one URL. */
final class References {
  private final DubboBootstrap bootstrap;
  private final String url;

  References(DubboBootstrap bootstrap, String url) {
    this.bootstrap = bootstrap;
    this.url = url;
  }

  <T> T to(Class<T> type, Consumer<ReferenceConfig<T>> settings) {
    ReferenceConfig<T> reference = new ReferenceConfig<>();
    reference.setInterface(type);
    reference.setUrl(url);
    reference.setTimeout(10_000);
    reference.setRetries(0);
    reference.setCheck(false);
    settings.accept(reference);
    bootstrap.reference(reference);
    return reference.get();
  }
}
