import com.acme.Color;
import com.acme.Node;
import com.acme.NoSuchUserException;
import com.acme.User;
import com.alibaba.com.caucho.hessian.io.Hessian2Output;
import com.alibaba.com.caucho.hessian.io.SerializerFactory;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Prints, as one JSON object, the bytes that Dubbo's encoder of Hessian 2 makes of values that are named. */
public class Vectors {
  private static final Map<String, Object> VALUES = new LinkedHashMap<>();

  public static void main(String[] arguments) throws Exception {
    VALUES.put("null", null);
    VALUES.put("true", true);
    VALUES.put("false", false);
    numbers();
    texts();
    collections();
    objects();
    StringBuilder json = new StringBuilder("{\n");
    String separator = "";
    for (Map.Entry<String, Object> entry : VALUES.entrySet()) {
      json.append(separator).append("  \"").append(entry.getKey()).append("\": \"").append(hex(entry.getValue())).append('"');
      separator = ",\n";
    }
    System.out.println(json.append("\n}"));
  }

  private static void numbers() {
    int[] ints = {
      0, -16, 47, -17, 48, -2048, 2047, -2049, 2048, -262144, 262143, -262145, 262144, Integer.MIN_VALUE, Integer.MAX_VALUE
    };
    for (int value : ints) VALUES.put("int " + value, value);
    long[] longs = {
      0, -8, 15, -9, 16, -2048, 2047, -2049, 2048, -262144, 262143, -262145, 262144,
      Integer.MIN_VALUE, Integer.MAX_VALUE, Integer.MAX_VALUE + 1L, Long.MIN_VALUE, Long.MAX_VALUE
    };
    for (long value : longs) VALUES.put("long " + value, value);
    double[] doubles = {
      0, 1, -1, 127, -128, 128, -129, 32767, -32768, 32768, 1.5, -0.001, 12.25, 0.1, 1e300, Double.MIN_VALUE,
      Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN
    };
    for (double value : doubles) VALUES.put("double " + value, value);
    VALUES.put("negative zero", -0.0);
    VALUES.put("float 0.1", 0.1f);
    VALUES.put("byte 5", (byte) 5);
    VALUES.put("short -300", (short) -300);
    VALUES.put("BigDecimal 12.50", new BigDecimal("12.50"));
    VALUES.put("BigInteger", new BigInteger("-123456789012345678901234567890"));
    VALUES.put("date", new Date(894621091000L));
    VALUES.put("date of a whole minute", new Date(894621060000L));
    VALUES.put("date before 1970", new Date(-1L));
  }

  private static void texts() {
    VALUES.put("char", 'x');
    VALUES.put("empty string", "");
    VALUES.put("string of 31", "a".repeat(31));
    VALUES.put("string of 32", "a".repeat(32));
    VALUES.put("string of 1024", "a".repeat(1024));
    VALUES.put("string of 40000", "é".repeat(40000));
    VALUES.put("string beyond ASCII", "grüß 世界 \uD83D\uDE00");
    VALUES.put("lone surrogate", "\uD83D");
    VALUES.put("surrogates at the end of a chunk", "a".repeat(32767) + "\uD83D\uDE00");
    VALUES.put("no bytes", new byte[0]);
    VALUES.put("bytes of 15", new byte[15]);
    VALUES.put("bytes of 16", new byte[16]);
    VALUES.put("bytes of 70000", new byte[70000]);
  }

  private static void collections() {
    VALUES.put("empty list", new ArrayList<>());
    VALUES.put("list", new ArrayList<>(List.of("a", 1, 2L, 3.0)));
    VALUES.put("list of 8", new ArrayList<>(List.of(1, 2, 3, 4, 5, 6, 7, 8)));
    VALUES.put("Arrays.asList", Arrays.asList("a", "b"));
    VALUES.put("List.of", List.of("a", "b"));
    VALUES.put("emptyList", Collections.emptyList());
    VALUES.put("int[]", new int[] {1, 2, 3});
    VALUES.put("long[]", new long[] {1, 2});
    VALUES.put("double[]", new double[] {1, 2});
    VALUES.put("float[]", new float[] {1, 2});
    VALUES.put("short[]", new short[] {1, 2});
    VALUES.put("boolean[]", new boolean[] {true, false});
    VALUES.put("char[]", new char[] {'h', 'i'});
    VALUES.put("String[]", new String[] {"a", "b"});
    VALUES.put("Integer[]", new Integer[] {1, null});
    VALUES.put("Object[]", new Object[] {"a", 1});
    VALUES.put("User[]", new User[] {new User("Ann", 3)});
    VALUES.put("int[][]", new int[][] {{1}, {2, 3}});
    VALUES.put("Date[]", new Date[] {new Date(0)});
    VALUES.put("HashSet", new HashSet<>(List.of("a")));
    Map<Object, Object> map = new LinkedHashMap<>();
    map.put("a", 1);
    map.put("b", List.of());
    VALUES.put("LinkedHashMap", map);
    VALUES.put("HashMap", new HashMap<>(Map.of("a", 1)));
    VALUES.put("TreeMap", new TreeMap<>(Map.of(4, "four")));
    VALUES.put("empty map", new HashMap<>());
  }

  private static void objects() {
    User ann = new User("Ann", 3);
    VALUES.put("User", ann);
    VALUES.put("list of the same twice", new ArrayList<>(List.of(ann, ann)));
    VALUES.put("list of two of a class", new ArrayList<>(List.of(ann, new User("Bob", 4))));
    List<Object> itself = new ArrayList<>();
    itself.add(itself);
    VALUES.put("list of itself", itself);
    Node node = new Node();
    node.next = node;
    VALUES.put("Node of itself", node);
    VALUES.put("enum", Color.RED);
    VALUES.put("list of enums", new ArrayList<>(List.of(Color.RED, Color.GREEN, Color.RED)));
    VALUES.put("java.sql.Timestamp", new java.sql.Timestamp(894621091000L));
    NoSuchUserException exception = new NoSuchUserException("no such user", 42);
    exception.setStackTrace(new StackTraceElement[] {new StackTraceElement("com.acme.Shop", "find", "Shop.java", 7)});
    VALUES.put("exception", exception);
    RuntimeException outer = new RuntimeException("outer", exception);
    outer.setStackTrace(new StackTraceElement[0]);
    VALUES.put("exception with a cause", outer);
  }

  private static String hex(Object value) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Hessian2Output output = new Hessian2Output(bytes);
    output.setSerializerFactory(new SerializerFactory());
    output.writeObject(value);
    output.flushBuffer();
    StringBuilder hex = new StringBuilder();
    for (byte one : bytes.toByteArray()) hex.append(String.format("%02x", one));
    return hex.toString();
  }
}
