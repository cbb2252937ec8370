package com.example.interop;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

/** Calls every method of the interface and looks at what comes back. */
final class PlainClient {
  static void addCases(Cases cases, PlainService service) {
    cases.add("overloads", () -> {
      same("Hello, Zoë!", service.greet("Zoë"));
      same("Hello, Ada! Hello, Ada!", service.greet("Ada", 2));
    });
    cases.add("primitives", () -> {
      same(
        "true -7 -300 70000 9007199254740993 1.5 0.1 ä",
        service.primitives(true, (byte) -7, (short) -300, 70000, 9007199254740993L, 1.5f, 0.1, 'ä')
      );
      same(1, service.increment(0));
      same(Integer.MIN_VALUE + 1, service.increment(Integer.MIN_VALUE));
      same(9007199254740994L, service.next(9007199254740993L));
      same(1.25, service.half(2.5));
      same(2.0, service.half(4));
      same(false, service.not(true));
    });
    cases.add("boxed", () -> {
      same(8, service.boxedIncrement(7));
      same(null, service.boxedIncrement(null));
      same(8L, service.boxedNext(7L));
      same(null, service.boxedNext(null));
    });
    cases.add("lists", () -> {
      same(List.of("c", "b", "a"), service.reverse(new ArrayList<>(List.of("a", "b", "c"))));
      same(List.of(), service.reverse(new ArrayList<>()));
      same(List.of(2L, 9007199254740994L), service.nextAll(new ArrayList<>(List.of(1L, 9007199254740993L))));
      same(Set.of("A", "B"), service.upper(new LinkedHashSet<>(List.of("a", "b"))));
      same(new BigDecimal("12.75"), service.total(Arrays.asList(new BigDecimal("12.50"), new BigDecimal("0.25"))));
    });
    cases.add("maps", () -> {
      Map<String, String> words = new LinkedHashMap<>();
      words.put("one", "a");
      words.put("two", "bb");
      same(Map.of("one", 1, "two", 2), service.lengths(words));
      same(Map.of(), service.lengths(new HashMap<>()));
      same(Map.of(9007199254740993L, "Zoë"), service.names(new ArrayList<>(List.of(Vectors.user()))));
    });
    cases.add("dates", () -> {
      same(new Date(894621091000L + 86_400_000), service.nextDay(new Date(894621091000L)));
      same(new Date(86_400_000), service.nextDay(new Date(0)));
    });
    cases.add("bytes", () -> {
      same(true, Arrays.equals(new byte[] {3, 2, 1}, service.reverseBytes(new byte[] {1, 2, 3})));
      same(0, service.reverseBytes(new byte[0]).length);
    });
    cases.add("arrays", () -> {
      same(true, Arrays.equals(new int[] {-1, 2, 70000}, service.sortInts(new int[] {70000, -1, 2})));
      same(true, Arrays.equals(new String[] {"a", "b"}, service.sortStrings(new String[] {"b", "a"})));
    });
    cases.add("enums", () -> same(Level.EXPERT, service.promote(Level.NOVICE)));
    cases.add("objects", () -> {
      User user = service.birthday(Vectors.user());
      same(42, user.getAge());
      same("Zoë", user.getName());
      same(9007199254740993L, user.getId());
      same(5L, user.getScore());
      same(true, user.isActive());
      same(61.5, user.getWeight());
      same(Level.EXPERT, user.getLevel());
      same(new BigDecimal("12.50"), user.getBalance());
      same(new Date(894621091000L), user.getBorn());
      same(true, Arrays.equals(new byte[] {1, 2, 3}, user.getAvatar()));
      same("Hauptstraße", user.getAddress().getStreet());
      same(7, user.getAddress().getNumber());
      same(List.of("a", "b"), user.getTags());
      same(1, user.getPlaces().get("work").getNumber());
      same(null, user.getManager());
    });
    cases.add("cycles", () -> {
      User boss = service.boss("Ada");
      same("Ada", boss.getName());
      same(true, boss == boss.getManager());
    });
    cases.add("objects_of_any_type", () -> {
      same("text", service.echo("text"));
      same(7L, service.echo(7L));
      same(List.of("a", 1), service.echo(new ArrayList<>(List.of("a", 1))));
      same(Map.of("a", 1), service.echo(new HashMap<>(Map.of("a", 1))));
      same(null, service.echo(null));
      same(7, ((Address) service.echo(new Address("a", 7))).getNumber());
    });
    cases.add("null_and_void", () -> {
      same(null, service.nothing());
      service.note("seen");
      same("seen", service.noted());
    });
    cases.add("checked_exception", () -> {
      try {
        service.fail("no such thing", 7);
      } catch (PlainException error) {
        same("no such thing", error.getMessage());
        same(7, error.getReason());
        return;
      }
      throw new AssertionError("nothing was thrown");
    });
    cases.add("unchecked_exception", () -> {
      try {
        service.failUnchecked("not now");
      } catch (IllegalStateException error) {
        same("not now", error.getMessage());
        return;
      }
      throw new AssertionError("nothing was thrown");
    });
  }

  private static void same(Object expected, Object actual) {
    if (!Objects.equals(expected, actual)) throw new AssertionError("expected " + expected + ", got " + actual);
  }

  private PlainClient() {}
}
