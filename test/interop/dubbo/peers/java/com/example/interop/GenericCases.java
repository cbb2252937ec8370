package com.example.interop;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import org.apache.dubbo.rpc.RpcException;
import org.apache.dubbo.rpc.service.GenericException;
import org.apache.dubbo.rpc.service.GenericService;

/** The cases of generic-cases.ts, as a gateway calls: without the interface. */
final class GenericCases {
  private static final long BIG = 9007199254740993L;

  static void addCases(Cases cases, GenericService service) {
    cases.add("overloads", () -> {
      same("Hello, Zoë!", call(service, "greet", types("java.lang.String"), "Zoë"));
      same("Hello, Ada! Hello, Ada!", call(service, "greet", types("java.lang.String", "int"), "Ada", 2));
      same("Hello, Ada!", service.$invokeAsync("greet", types("java.lang.String"), new Object[] {"Ada"}).get(10, TimeUnit.SECONDS));
    });
    cases.add("scalars", () -> {
      same(2, call(service, "increment", types("int"), 1));
      same(BIG + 1, call(service, "next", types("long"), BIG));
      same(2.0, call(service, "half", types("double"), 4.0));
      same(false, call(service, "not", types("boolean"), true));
      same(8L, call(service, "boxedNext", types("java.lang.Long"), 7L));
    });
    cases.add("dates_and_decimals", () -> {
      same(new Date(86_400_000), call(service, "nextDay", types("java.util.Date"), new Date(0)));
      List<Object> amounts = new ArrayList<>(List.of(new BigDecimal("12.50")));
      same(new BigDecimal("12.50"), call(service, "total", types("java.util.List"), amounts));
    });
    cases.add("collections", () -> {
      same(List.of("b", "a"), call(service, "reverse", types("java.util.List"), new ArrayList<>(List.of("a", "b"))));
      same(true, Arrays.equals(new int[] {1, 2}, (int[]) call(service, "sortInts", types("[I"), new int[] {2, 1})));
      String[] sorted = (String[]) call(service, "sortStrings", types("[Ljava.lang.String;"), (Object) new String[] {"b", "a"});
      same(true, Arrays.equals(new String[] {"a", "b"}, sorted));
      byte[] bytes = (byte[]) call(service, "reverseBytes", types("[B"), new byte[] {1, 2});
      same(true, Arrays.equals(new byte[] {2, 1}, bytes));
    });
    cases.add("maps", () -> {
      List<Object> users = new ArrayList<>(List.of(new HashMap<>(Map.of("id", BIG, "name", "Zoë"))));
      same(Map.of(BIG, "Zoë"), call(service, "names", types("java.util.List"), users));
      same(Map.of("one", 1), call(service, "lengths", types("java.util.Map"), new HashMap<>(Map.of("one", "a"))));
    });
    cases.add("sets", () -> same(Set.of("A"), call(service, "upper", types("java.util.Set"), new HashSet<>(Set.of("a")))));
    cases.add("enums", () -> same("EXPERT", call(service, "promote", types("com.example.interop.Level"), "NOVICE")));
    cases.add("objects", () -> {
      Map<String, Object> user = new HashMap<>();
      user.put("class", "com.example.interop.User");
      user.put("name", "Zoë");
      user.put("age", 41);
      user.put("id", BIG);
      user.put("score", 5L);
      user.put("active", true);
      user.put("weight", 61.5);
      user.put("level", "EXPERT");
      user.put("born", new Date(894621091000L));
      user.put("address", new HashMap<>(Map.of("street", "Hauptstraße", "number", 7)));
      user.put("tags", new ArrayList<>(List.of("a", "b")));
      user.put("places", new HashMap<>(Map.of("work", new HashMap<>(Map.of("street", "Allee", "number", 1)))));
      Map<?, ?> answer = (Map<?, ?>) call(service, "birthday", types("com.example.interop.User"), user);
      user.put("age", 42);
      for (String field : user.keySet()) {
        if (!field.equals("address") && !field.equals("places")) same(user.get(field), answer.get(field));
      }
      same(null, answer.get("balance"));
      same("Hauptstraße", ((Map<?, ?>) answer.get("address")).get("street"));
      same("Allee", ((Map<?, ?>) ((Map<?, ?>) answer.get("places")).get("work")).get("street"));
    });
    cases.add("cycles", () -> {
      Map<?, ?> boss = (Map<?, ?>) call(service, "boss", types("java.lang.String"), "Ada");
      same("Ada", boss.get("name"));
      same(true, boss == boss.get("manager"));
    });
    cases.add("null_and_void", () -> {
      same(null, call(service, "nothing", types()));
      same(null, call(service, "note", types("java.lang.String"), "seen"));
      same("seen", call(service, "noted", types()));
      same(null, call(service, "boxedNext", types("java.lang.Long"), new Object[] {null}));
    });
    cases.add("checked_exception", () -> {
      GenericException error = thrown(service, "fail", types("java.lang.String", "int"), "no such thing", 7);
      same("com.example.interop.PlainException", error.getExceptionClass());
      same("no such thing", error.getExceptionMessage());
    });
    cases.add("unchecked_exception", () -> {
      GenericException error = thrown(service, "failUnchecked", types("java.lang.String"), "not now");
      same("java.lang.IllegalStateException", error.getExceptionClass());
      same("not now", error.getExceptionMessage());
    });
    cases.add("unknown_method", () -> {
      String text = refused(service, "absent", types("java.lang.String"), "a");
      if (!text.contains("absent")) throw new AssertionError(text);
    });
    cases.add("wrong_arguments", () -> {
      refused(service, "increment", types("int"), "one");
      refused(service, "increment", types("int"), 1, 2);
    });
  }

  private static String[] types(String... names) {
    return names;
  }

  private static Object call(GenericService service, String method, String[] types, Object... args) {
    return service.$invoke(method, types, args);
  }

  private static GenericException thrown(GenericService service, String method, String[] types, Object... args) {
    try {
      service.$invoke(method, types, args);
    } catch (GenericException error) {
      return error;
    }
    throw new AssertionError("nothing was thrown");
  }

  /** Returns the message of a call that fails without an exception of the service. */
  private static String refused(GenericService service, String method, String[] types, Object... args) {
    try {
      service.$invoke(method, types, args);
    } catch (RpcException error) {
      return error.getMessage();
    }
    throw new AssertionError("nothing was thrown");
  }

  private static void same(Object expected, Object actual) {
    if (!Objects.equals(expected, actual)) throw new AssertionError("expected " + expected + ", got " + actual);
  }

  private GenericCases() {}
}
