package com.example.interop;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.StringWriter;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import javax.xml.bind.JAXB;

/**
 * Sub-protocol A in other bodies than JSON, at the interface without a proto file, with the HTTP client of the JDK. Servers of
 * Dubbo and of others have to answer alike.
 */
final class HttpBodies {
  private static final String BOUNDARY = "fEdCbA9876543210";
  private static final String FORM = "application/x-www-form-urlencoded";
  private static final String MULTIPART = "multipart/form-data; boundary=" + BOUNDARY;
  private static final String JSON = "application/json";
  private static final String XML = "application/xml";
  private static final String TEXT = "text/plain; charset=UTF-8";
  private static final String LATIN1 = "text/plain; charset=ISO-8859-1";
  private static final String BYTES = "application/octet-stream";

  private static final String GREETINGS = "\"Hello, Zo\u00eb & Co! Hello, Zo\u00eb & Co!\"";
  private static final String LONG = "9007199254740993";
  private static final String USER = "{\"name\":\"Zo\u00eb\",\"age\":41}";
  private static final String OLDER = "\"age\":42";

  private final String url;
  private final Cases cases = new Cases();

  private HttpBodies(int port) {
    url = "http://127.0.0.1:" + port + "/com.example.interop.PlainService/";
  }

  public static void main(String[] args) {
    HttpBodies http = new HttpBodies(Integer.parseInt(args[0]));
    byte[] greeting = form("name", "Zo\u00eb & Co", "times", "2");
    byte[] unnamed = form("0", "Zo\u00eb & Co", "1", "2");
    byte[] parts = parts("name", "text/plain", "Zo\u00eb & Co", "times", "text/plain", "2");
    byte[] text = "Zo\u00eb".getBytes(UTF_8);
    byte[] user = xml(Vectors.user());
    //       name                  method          content type      body          accept   expected
    http.add("form",               "greet~Si",     FORM,             greeting,     JSON,    GREETINGS);
    http.add("form_of_long",       "next",         FORM,             form("value", LONG), JSON, "9007199254740994");
    http.add("form_of_list",       "reverse",      FORM,             form("values", "a", "values", "b"), JSON, "[\"b\",\"a\"]");
    http.add("form_of_map",        "lengths",      FORM,             form("a", "x", "c", "yy"), JSON, "{\"a\":1,\"c\":2}");
    http.add("form_of_fields",     "birthday",     FORM,             form("name", "Zo\u00eb", "age", "41"), JSON, OLDER);
    http.add("form_of_JSON",       "birthday",     FORM,             form("user", USER), JSON, OLDER);
    http.add("form_by_position",   "greet~Si",     FORM,             unnamed,      JSON,    GREETINGS);
    http.add("multipart",          "greet~Si",     MULTIPART,        parts,        JSON,    GREETINGS);
    http.add("multipart_of_JSON",  "birthday",     MULTIPART,        parts("user", JSON, USER), JSON, OLDER);
    http.add("multipart_of_bytes", "reverseBytes", MULTIPART,        parts("bytes", BYTES, "abc"), JSON, "[99,98,97]");
    http.add("text",               "greet~S",      TEXT,             text,         JSON,    "\"Hello, Zo\u00eb!\"");
    http.add("text_in_latin1",     "greet~S",      LATIN1,           "Zo\u00eb".getBytes(ISO_8859_1), JSON, "\"Hello, Zo\u00eb!\"");
    http.add("text_to_text",       "greet~S",      TEXT,             text,         "text/plain", "Hello, Zo\u00eb!");
    http.add("XML",                "birthday",     XML,              user,         XML,     "<age>42</age>", "<name>Zo\u00eb</name>");
    http.add("XML_to_JSON",        "birthday",     XML,              user,         JSON,    OLDER);
    http.add("JSON_to_XML",        "birthday",     JSON,             USER.getBytes(UTF_8), XML, "<age>42</age>", "<name>Zo\u00eb</name>");
    http.cases.run();
  }

  private void add(String name, String method, String contentType, byte[] body, String accept, String... expected) {
    cases.add(name, () -> {
      HttpRequest request = HttpRequest.newBuilder(URI.create(url + method))
        .timeout(Duration.ofSeconds(10))
        .header("content-type", contentType)
        .header("accept", accept)
        // Proves to our servers that the request is not from a page of another origin.
        .header("tri-protocol-version", "1.0.0")
        .POST(HttpRequest.BodyPublishers.ofByteArray(body))
        .build();
      // A connection for each request: Dubbo may lose the head of a response on one that is reused (docs/interop.md).
      HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
      HttpResponse<byte[]> response = client.send(request, HttpResponse.BodyHandlers.ofByteArray());
      String type = response.headers().firstValue("content-type").orElse("");
      String text = new String(response.body(), UTF_8);
      // Dubbo answers in the charset of the request, and does not say so.
      if (text.contains("\ufffd")) text = new String(response.body(), ISO_8859_1);
      String answer = response.statusCode() + " " + type + " " + text;
      if (response.statusCode() != 200 || !type.startsWith(accept)) throw new AssertionError(answer);
      for (String one : expected) if (!text.contains(one)) throw new AssertionError("expected " + one + " in " + answer);
    });
  }

  private static byte[] form(String... pairs) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < pairs.length; i += 2) {
      if (i > 0) text.append('&');
      text.append(URLEncoder.encode(pairs[i], UTF_8)).append('=').append(URLEncoder.encode(pairs[i + 1], UTF_8));
    }
    return text.toString().getBytes(UTF_8);
  }

  /** Triples of name, content type and value, as the client of Apache HttpComponents writes them. */
  private static byte[] parts(String... parts) {
    StringBuilder text = new StringBuilder();
    for (int i = 0; i < parts.length; i += 3) {
      text.append("--").append(BOUNDARY).append("\r\nContent-Disposition: form-data; name=\"").append(parts[i]);
      text.append("\"\r\nContent-Type: ").append(parts[i + 1]).append(parts[i + 1].equals(BYTES) ? "" : "; charset=UTF-8");
      text.append("\r\nContent-Transfer-Encoding: 8bit\r\n\r\n").append(parts[i + 2]).append("\r\n");
    }
    return text.append("--").append(BOUNDARY).append("--\r\n").toString().getBytes(UTF_8);
  }

  private static byte[] xml(Object value) {
    StringWriter text = new StringWriter();
    JAXB.marshal(value, text);
    return text.toString().getBytes(UTF_8);
  }
}
