package com.example.interop;

import com.alibaba.com.caucho.hessian.io.Hessian2Output;
import com.alibaba.com.caucho.hessian.io.SerializerFactory;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;

/** Prints values as Java's own encoder of Hessian 2 writes them: a line for each, name, a tab, bytes in hex. */
public final class Vectors {
  public static void main(String[] args) throws IOException {
    print("null", null);
    print("true", true);
    print("false", false);
    int[] ints = {
      0, -16, 47, -17, 48, -2048, 2047, -2049, 2048, -262144, 262143, -262145, 262144, Integer.MIN_VALUE, Integer.MAX_VALUE
    };
    for (int value : ints) print("int " + value, value);
    long[] longs = {
      0, -8, 15, -9, 16, -2048, 2047, -2049, 2048, -262144, 262143, -262145, 262144, Integer.MIN_VALUE, Integer.MAX_VALUE,
      2147483648L, -2147483649L, 9007199254740993L, Long.MIN_VALUE, Long.MAX_VALUE
    };
    for (long value : longs) print("long " + value, value);
    double[] doubles = {
      0, -0.0, 1, -1, 127, -128, 128, 32767, -32768, 32768, 0.001, 1.5, 12.25, 2147483.647, Math.PI, 1e300, Double.NaN,
      Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.MIN_VALUE, Double.MAX_VALUE
    };
    for (double value : doubles) print("double " + value, value);
    print("byte 7", (byte) 7);
    print("short -300", (short) -300);
    print("float 1.5", 1.5f);
    print("float 0.1", 0.1f);
    print("char A", 'A');
    print("string ", "");
    print("string abc", "abc");
    print("string umlauts", "Grüße, Zoë");
    print("string chinese", "你好");
    print("string emoji", "\uD83D\uDE00 smile");
    print("string 31", "x".repeat(31));
    print("string 32", "x".repeat(32));
    print("string 1023", "x".repeat(1023));
    print("string 1024", "x".repeat(1024));
    print("string pair across a chunk", "x".repeat(0x8000 - 1) + "\uD83D\uDE00 end");
    print("bytes ", new byte[0]);
    print("bytes 15", bytes(15));
    print("bytes 16", bytes(16));
    print("bytes 1023", bytes(1023));
    print("bytes 1024", bytes(1024));
    print("bytes 10000", bytes(10000));
    print("date 0", new Date(0));
    print("date 894621091000", new Date(894621091000L));
    print("date 894621060000", new Date(894621060000L));
    print("date -1", new Date(-1));
    print("date 1700000000123", new Date(1700000000123L));
    print("list ", new ArrayList<>());
    print("list of strings", new ArrayList<>(List.of("a", "b")));
    print("list of 10 ints", new ArrayList<>(List.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)));
    print("list Arrays.asList", Arrays.asList("a", 1, 2L, null));
    print("list List.of", List.of("a", "b"));
    print("set", new LinkedHashSet<>(List.of("a", "b")));
    print("int[]", new int[] {1, 2, 300});
    print("long[]", new long[] {1, 2, 300});
    print("double[]", new double[] {1, 2.5});
    print("boolean[]", new boolean[] {true, false});
    print("String[]", new String[] {"a", "b"});
    print("Object[]", new Object[] {"a", 1, null});
    print("User[]", new User[] {user(), null});
    print("map ", new HashMap<>());
    print("map of strings", new LinkedHashMap<>(Map.of("a", "b")));
    Map<Object, Object> mixed = new HashMap<>();
    mixed.put("a", 1);
    mixed.put(2L, "two");
    mixed.put(3, null);
    print("map HashMap mixed", mixed);
    print("map Map.of", Map.of("a", 1));
    print("enum", Level.EXPERT);
    print("list of enums", new ArrayList<>(List.of(Level.EXPERT, Level.NOVICE, Level.EXPERT)));
    print("BigDecimal 12.50", new BigDecimal("12.50"));
    print("BigInteger", new BigInteger("123456789012345678901234567890"));
    print("object Address", new Address("Hauptstraße", 7));
    print("list of objects", new ArrayList<>(List.of(new Address("a", 1), new Address("b", 2))));
    print("object User", user());
    print("object User of nulls", new User());
    User boss = new User();
    boss.setName("Ada");
    boss.setManager(boss);
    print("object User with itself", boss);
    Address shared = new Address("shared", 1);
    print("list with one object twice", new ArrayList<>(List.of(shared, shared)));
    print("exception PlainException", stackless(new PlainException("no", 7)));
    print("exception with a cause", stackless(new IllegalStateException("outer", stackless(new RuntimeException("inner")))));
    print("exception without a message", stackless(new NullPointerException()));
    IllegalArgumentException traced = new IllegalArgumentException("traced");
    traced.setStackTrace(new StackTraceElement[] {new StackTraceElement("com.example.A", "b", "A.java", 12)});
    print("exception with a stack", traced);
  }

  private static <T extends Throwable> T stackless(T error) {
    error.setStackTrace(new StackTraceElement[0]);
    return error;
  }

  private static byte[] bytes(int length) {
    byte[] bytes = new byte[length];
    for (int i = 0; i < length; i++) bytes[i] = (byte) i;
    return bytes;
  }

  static User user() {
    User user = new User();
    user.setName("Zoë");
    user.setAge(41);
    user.setId(9007199254740993L);
    user.setScore(5L);
    user.setActive(true);
    user.setWeight(61.5);
    user.setLevel(Level.EXPERT);
    user.setBalance(new BigDecimal("12.50"));
    user.setBorn(new Date(894621091000L));
    user.setAvatar(new byte[] {1, 2, 3});
    user.setAddress(new Address("Hauptstraße", 7));
    user.setTags(new ArrayList<>(List.of("a", "b")));
    Map<String, Address> places = new HashMap<>();
    places.put("work", new Address("Allee", 1));
    user.setPlaces(places);
    return user;
  }

  private static void print(String name, Object value) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Hessian2Output output = new Hessian2Output(bytes);
    output.setSerializerFactory(new SerializerFactory());
    output.writeObject(value);
    output.flush();
    StringBuilder hex = new StringBuilder();
    for (byte one : bytes.toByteArray()) hex.append(String.format("%02x", one));
    System.out.println(name + "\t" + hex);
  }
}
