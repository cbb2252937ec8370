package com.example.interop;

import java.lang.reflect.Field;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.dubbo.common.utils.NetUtils;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.config.RegistryConfig;
import org.apache.dubbo.config.bootstrap.DubboBootstrap;

/** The common configuration of server and client: an application without registry or console, which logs only errors. */
final class Setup {
  /** Without a strong reference the logger, and its level, would be collected. */
  private static final Logger ROOT = Logger.getLogger("");

  static DubboBootstrap bootstrap(String name) throws ReflectiveOperationException {
    System.setProperty("dubbo.application.logger", "jdk");
    // Health and reflection.
    System.setProperty("dubbo.tri.builtin.service.init", "true");
    // A server that is told to stop need not wait for running calls.
    System.setProperty("dubbo.service.shutdown.wait", "1");
    ROOT.setLevel(Level.SEVERE);
    // Dubbo replaces 127.0.0.1 by another address of the machine, on which our server does not listen.
    Field own = NetUtils.class.getDeclaredField("HOST_ADDRESS");
    own.setAccessible(true);
    own.set(null, "127.0.0.1");
    ApplicationConfig application = new ApplicationConfig(name);
    application.setQosEnable(false);
    return DubboBootstrap.getInstance().application(application).registry(new RegistryConfig("N/A"));
  }

  private Setup() {}
}
