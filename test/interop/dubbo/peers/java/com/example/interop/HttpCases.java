package com.example.interop;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** Sub-protocol A with the HTTP client of the JDK, since Dubbo for Java has none. Asks in HTTP/1.1 for HTTP/2. */
final class HttpCases {
  private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
  private final String url;

  private HttpCases(int port, String method) {
    url = "http://127.0.0.1:" + port + "/interop.v1.PeerService/" + method;
  }

  public static void main(String[] args) {
    HttpCases http = new HttpCases(Integer.parseInt(args[0]), "Unary");
    Cases cases = new Cases();
    cases.add("json_object", () -> http.echoes("{\"text\":\"Zo\u00eb\",\"number\":\"9007199254740993\"}"));
    cases.add("json_array", () -> http.echoes("[{\"text\":\"Zo\u00eb\",\"number\":\"9007199254740993\"}]"));
    cases.add("proto", () -> {
      PeerRequest message = PeerRequest.newBuilder().setText("Zo\u00eb").setNumber(9007199254740993L).build();
      HttpResponse<byte[]> response = http.post(message.toByteArray(), "content-type", "application/proto");
      PeerResponse answer = PeerResponse.parseFrom(response.body());
      contains("Zo\u00eb 9007199254740993", answer.getText() + " " + answer.getNumber());
    });
    cases.add("gzip", () -> {
      String[] headers = {"content-type", "application/json", "content-encoding", "gzip", "accept-encoding", "gzip"};
      HttpResponse<byte[]> response = http.post(gzip("{\"text\":\"Zo\u00eb\"}"), headers);
      contains("gzip", response.headers().firstValue("content-encoding").orElse(""));
      byte[] inflated = new GZIPInputStream(new ByteArrayInputStream(response.body())).readAllBytes();
      contains("\"text\":\"Zo\u00eb\"", new String(inflated, UTF_8));
    });
    cases.add("metadata", () -> {
      HttpResponse<String> response = http.post("{}", "x-text", "some text");
      contains("\"x-text\":\"some text\"", response.body());
      contains("yes", response.headers().firstValue("x-leading").orElse(""));
    });
    cases.add("trailers", () ->
      contains("q83v/w", http.post("{}").headers().firstValue("trailer-x-bytes-bin").orElse("")));
    cases.add("status", () -> {
      HttpResponse<String> response = http.post("{\"failure\":{\"code\":5,\"message\":\"no such thing\"}}");
      contains("404", String.valueOf(response.statusCode()));
      contains("{\"status\":70,\"message\":\"no such thing\",\"code\":\"not_found\"}", response.body());
    });
    cases.add("deadline", () -> {
      HttpResponse<String> response = http.post("{\"delayMs\":2000}", "tri-service-timeout", "200");
      contains("408", String.valueOf(response.statusCode()));
      contains("{\"status\":31,", response.body());
    });
    cases.add("group_and_version", () -> {
      String[] headers = {"tri-service-group", "blue", "tri-service-version", "1.2.3"};
      contains("\"service\":\"blue/1.2.3\"", http.post("{}", headers).body());
    });
    cases.add("unknown_group", () -> {
      HttpResponse<String> response = http.post("{}", "tri-service-group", "red");
      contains("404", String.valueOf(response.statusCode()));
      contains("{\"status\":60,", response.body());
    });
    cases.add("broken_body", () -> {
      HttpResponse<String> response = http.post("{\"text\":");
      contains("400", String.valueOf(response.statusCode()));
      contains("{\"status\":25,", response.body());
    });
    cases.add("unknown_codec", () -> {
      byte[] body = {'?'};
      contains("415", String.valueOf(http.post(body, "content-type", "application/x-unknown").statusCode()));
    });
    HttpCases streaming = new HttpCases(Integer.parseInt(args[0]), "ServerStream");
    cases.add("events", () -> {
      String events = streaming.post("{\"text\":\"x\",\"responses\":3}", "accept", "text/event-stream").body();
      contains("x0\nx1\nx2\n", events.replaceAll("data: \\{\"text\":\"(x.)\".*\n\n", "$1\n"));
      contains("\n\nevent: end\ndata:\n\n", events);
    });
    cases.add("failure_after_events", () -> {
      String failing = "{\"text\":\"x\",\"responses\":2,\"failure\":{\"code\":5,\"message\":\"no such thing\"}}";
      String error = "{\"status\":70,\"message\":\"no such thing\",\"code\":\"not_found\"}";
      contains("\n\nevent: failure\ndata: " + error + "\n\n", streaming.post(failing).body());
    });
    cases.run();
  }

  private void echoes(String body) throws IOException, InterruptedException {
    HttpResponse<String> response = post(body);
    contains("200", String.valueOf(response.statusCode()));
    contains("\"text\":\"Zo\u00eb\"", response.body());
    contains("\"number\":\"9007199254740993\"", response.body());
  }

  private HttpResponse<String> post(String body, String... headers) throws IOException, InterruptedException {
    HttpRequest.Builder request = request(HttpRequest.BodyPublishers.ofString(body), headers);
    return client.send(request.header("content-type", "application/json").build(), BodyHandlers.ofString());
  }

  private HttpResponse<byte[]> post(byte[] body, String... headers) throws IOException, InterruptedException {
    return client.send(request(HttpRequest.BodyPublishers.ofByteArray(body), headers).build(), BodyHandlers.ofByteArray());
  }

  private HttpRequest.Builder request(HttpRequest.BodyPublisher body, String... headers) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(10)).POST(body);
    return headers.length == 0 ? request : request.headers(headers);
  }

  private static byte[] gzip(String text) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (GZIPOutputStream compressing = new GZIPOutputStream(bytes)) {
      compressing.write(text.getBytes(UTF_8));
    }
    return bytes.toByteArray();
  }

  private static void contains(String expected, String actual) {
    if (!actual.contains(expected)) throw new AssertionError("expected " + expected + " in " + actual);
  }
}
