package com.example.interop;

import java.util.LinkedHashMap;
import java.util.Map;

/** Cases by name. Running them prints a line for each: the name, a tab, and "ok" or what went wrong. */
final class Cases {
  interface Case {
    void run() throws Throwable;
  }

  private final Map<String, Case> cases = new LinkedHashMap<>();

  void add(String name, Case one) {
    cases.put(name, one);
  }

  void run() {
    cases.forEach((name, one) -> {
      try {
        one.run();
        System.out.println(name + "\tok");
      } catch (Throwable error) {
        System.out.println(name + "\t" + error.toString().replaceAll("\\s+", " "));
      }
    });
  }
}
