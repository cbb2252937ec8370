package com.example.interop;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.apache.dubbo.common.URL;
import org.apache.dubbo.common.config.configcenter.DynamicConfiguration;
import org.apache.dubbo.common.config.configcenter.DynamicConfigurationFactory;
import org.apache.dubbo.config.ApplicationConfig;
import org.apache.dubbo.rpc.model.ApplicationModel;

/**
 * Writes traffic rules to a registry with Dubbo's own config center, as Dubbo Admin does: "REGISTRY". For each line "KEY
 * TEXT_IN_BASE64" on its input it publishes a rule, for each line "KEY" it removes one. Prints "done" when it is ready, and
 * after each line.
 */
public final class Rules {
  /** Without a strong reference the logger, and its level, would be collected. */
  private static final Logger ROOT = Logger.getLogger("");

  public static void main(String[] args) throws Exception {
    PrintStream output = System.out;
    // Dubbo prints to the standard output.
    System.setOut(System.err);
    System.setProperty("dubbo.application.logger", "jdk");
    ROOT.setLevel(Level.SEVERE);
    ApplicationModel application = ApplicationModel.defaultModel();
    application.getApplicationConfigManager().setApplication(new ApplicationConfig("rules"));
    URL url = URL.valueOf(args[0]).setScopeModel(application);
    DynamicConfiguration center = application
      .getExtensionLoader(DynamicConfigurationFactory.class)
      .getExtension(url.getProtocol())
      .getDynamicConfiguration(url);
    output.println("done");
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] words = line.split(" ");
      boolean isWritten = words.length == 1
        ? center.removeConfig(words[0], DynamicConfiguration.DEFAULT_GROUP)
        : center.publishConfig(words[0], DynamicConfiguration.DEFAULT_GROUP, decode(words[1]));
      if (!isWritten) output.println("not written: " + words[0]);
      output.println("done");
    }
    Runtime.getRuntime().halt(0);
  }

  private static String decode(String text) {
    return new String(Base64.getDecoder().decode(text), StandardCharsets.UTF_8);
  }

  private Rules() {}
}
