package com.example.interop;

import com.google.protobuf.ByteString;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.dubbo.common.stream.StreamObserver;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.RpcException;
import org.apache.dubbo.rpc.StatusRpcException;
import org.apache.dubbo.rpc.TriRpcStatus;
import org.apache.dubbo.rpc.model.FrameworkModel;
import org.apache.dubbo.rpc.protocol.tri.CancelableStreamObserver;
import org.apache.dubbo.rpc.protocol.tri.TripleInvoker;
import org.apache.dubbo.rpc.protocol.tri.compressor.Compressor;

/** The cases of sub-protocol B with an IDL. Their names are those of cases.ts. */
final class PeerClient {
  private static final String SPECIAL_MESSAGE = "100% wrong: ü\n☺";

  /** An interface that no server has. */
  interface MissingService {
    String missing();
  }

  static void addCases(Cases cases, References references) {
    PeerService service = references.to(PeerService.class, reference -> {});
    cases.add("unary", () -> {
      PeerRequest request = PeerRequest.newBuilder()
        .setText("Zoë")
        .setNumber(9007199254740993L)
        .setData(ByteString.copyFrom(new byte[] {0, (byte) 255}))
        .build();
      PeerResponse response = service.unary(request);
      same("Zoë", response.getText());
      same(request.getNumber(), response.getNumber());
      same(request.getData(), response.getData());
    });
    cases.add("client_streaming", () -> {
      Responses responses = new Responses();
      StreamObserver<PeerRequest> requests = service.clientStream(responses);
      for (String text : List.of("a", "b", "c")) requests.onNext(PeerRequest.newBuilder().setText(text).build());
      requests.onCompleted();
      same(List.of("a,b,c"), responses.texts());
    });
    cases.add("server_streaming", () -> {
      Responses responses = new Responses();
      service.serverStream(PeerRequest.newBuilder().setText("x").setResponses(3).build(), responses);
      same(List.of("x0", "x1", "x2"), responses.texts());
    });
    cases.add("bidi_streaming", () -> {
      Responses responses = new Responses();
      StreamObserver<PeerRequest> requests = service.bidiStream(responses);
      for (String text : List.of("a", "b", "c")) {
        requests.onNext(PeerRequest.newBuilder().setText(text).build());
        responses.awaitText(text);
      }
      requests.onCompleted();
      same(List.of("a", "b", "c"), responses.texts());
    });
    cases.add("metadata", () -> {
      RpcContext.getClientAttachment().setAttachment("x-text", "some text");
      RpcContext.getClientAttachment().setObjectAttachment("x-bytes", PeerServiceImpl.TRAILING_BYTES);
      Map<String, String> seen = service.unary(PeerRequest.getDefaultInstance()).getMetadataMap();
      same("some text", seen.get("x-text"));
      same("q83v/w", seen.get("x-bytes-bin"));
    });
    cases.add("trailers", () -> {
      service.unary(PeerRequest.getDefaultInstance());
      Map<String, Object> trailers = RpcContext.getClientResponseContext().getObjectAttachments();
      same("yes", trailers.get("x-trailing"));
      same(ByteString.copyFrom(PeerServiceImpl.TRAILING_BYTES), ByteString.copyFrom((byte[]) trailers.get("x-bytes")));
    });
    cases.add("attachment_names", () -> {
      RpcContext.getClientAttachment().setAttachment("x-userName", "Ada");
      RpcContext.getClientAttachment().setObjectAttachment("x-userKey", PeerServiceImpl.TRAILING_BYTES);
      Map<String, String> seen = service.unary(PeerRequest.getDefaultInstance()).getMetadataMap();
      same("Ada", seen.get("x-userName"));
      same("q83v/w", seen.get("x-userKey-bin"));
      same("yes", RpcContext.getClientResponseContext().getObjectAttachments().get("x-camelCase"));
    });
    cases.add("status", () -> {
      for (int code = 1; code <= 16; code++) {
        Failure failure = Failure.newBuilder().setCode(code).setMessage("no such thing").build();
        PeerRequest request = PeerRequest.newBuilder().setFailure(failure).build();
        fails(code, "no such thing", () -> service.unary(request));
      }
    });
    cases.add("status_message", () -> {
      Failure failure = Failure.newBuilder().setCode(5).setMessage(SPECIAL_MESSAGE).build();
      PeerRequest request = PeerRequest.newBuilder().setFailure(failure).build();
      fails(5, SPECIAL_MESSAGE, () -> service.unary(request));
    });
    cases.add("status_of_stream", () -> {
      Failure failure = Failure.newBuilder().setCode(9).setMessage("after two").build();
      Responses responses = new Responses();
      service.serverStream(PeerRequest.newBuilder().setText("x").setResponses(2).setFailure(failure).build(), responses);
      fails(9, "after two", responses::texts);
      same(List.of("x0", "x1"), responses.texts);
    });
    cases.add("details", () -> {
      Failure failure = Failure.newBuilder().setCode(3).setMessage("bad").setDetails(true).build();
      PeerRequest request = PeerRequest.newBuilder().setFailure(failure).build();
      fails(3, "bad", () -> service.unary(request));
    });
    cases.add("deadline", () -> {
      PeerService hasty = references.to(PeerService.class, reference -> reference.setTimeout(200));
      String callId = "deadline of Java";
      try {
        hasty.unary(PeerRequest.newBuilder().setDelayMs(2000).setCallId(callId).build());
      } catch (RpcException error) {
        // The client's own clock, or the server's, whichever is first.
        if (!error.isTimeout()) fails(4, null, () -> { throw error; });
        return;
      }
      throw new AssertionError("the call succeeded");
    });
    cases.add("deadline_at_the_server", () -> {
      seen(service, "deadline of Java");
    });
    cases.add("cancel", () -> {
      String callId = "cancel of Java";
      CancelingResponses responses = new CancelingResponses();
      service.serverStream(
        PeerRequest.newBuilder().setResponses(1).setDelayMs(5000).setCallId(callId).build(),
        responses
      );
      responses.ended.await(10, TimeUnit.SECONDS);
      seen(service, callId);
    });
    cases.add("group_and_version", () -> {
      PeerService grouped = references.to(PeerService.class, reference -> {
        reference.setGroup("blue");
        reference.setVersion("1.2.3");
      });
      same("", service.unary(PeerRequest.getDefaultInstance()).getService());
      same("blue/1.2.3", grouped.unary(PeerRequest.getDefaultInstance()).getService());
    });
    cases.add("unknown_group", () -> {
      PeerService missed = references.to(PeerService.class, reference -> {
        reference.setGroup("red");
        reference.setVersion("1.2.3");
      });
      fails(12, null, () -> missed.unary(PeerRequest.getDefaultInstance()));
    });
    cases.add("unknown_version", () -> {
      PeerService missed = references.to(PeerService.class, reference -> {
        reference.setGroup("blue");
        reference.setVersion("9.9.9");
      });
      fails(12, null, () -> missed.unary(PeerRequest.getDefaultInstance()));
    });
    cases.add("unknown_service", () -> {
      MissingService missed = references.to(MissingService.class, reference -> {});
      fails(12, null, missed::missing);
    });
    cases.add("gzip_requests", () -> {
      // Dubbo reads from the environment, and once only, that a client compresses.
      Field compressor = TripleInvoker.class.getDeclaredField("compressor");
      compressor.setAccessible(true);
      service.unary(PeerRequest.getDefaultInstance());
      Object before = compressor.get(null);
      try {
        compressor.set(null, Compressor.getCompressor(FrameworkModel.defaultModel(), "gzip"));
        PeerRequest request = PeerRequest.newBuilder().setData(ByteString.copyFrom(new byte[10_000])).build();
        PeerResponse response = service.unary(request);
        same(request.getData(), response.getData());
        same("gzip", response.getMetadataMap().get("grpc-encoding"));
      } finally {
        compressor.set(null, before);
      }
    });
    cases.add("large_message", () -> {
      PeerRequest request = PeerRequest.newBuilder().setData(ByteString.copyFrom(new byte[2_000_000])).build();
      same(2_000_000, service.unary(request).getData().size());
    });
  }

  /** The responses of a stream, until it ends. */
  private static final class Responses implements StreamObserver<PeerResponse> {
    private final List<String> texts = new ArrayList<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private volatile Throwable failure;

    @Override
    public synchronized void onNext(PeerResponse response) {
      texts.add(response.getText());
      notifyAll();
    }

    @Override
    public void onError(Throwable error) {
      failure = error;
      ended.countDown();
    }

    @Override
    public void onCompleted() {
      ended.countDown();
    }

    synchronized void awaitText(String text) throws InterruptedException {
      long end = System.currentTimeMillis() + 10_000;
      while (!texts.contains(text) && failure == null && System.currentTimeMillis() < end) wait(100);
      same(true, texts.contains(text));
    }

    List<String> texts() throws Throwable {
      if (!ended.await(10, TimeUnit.SECONDS)) throw new AssertionError("the stream does not end");
      if (failure != null) throw failure;
      return texts;
    }
  }

  /** Leaves after the first response. */
  private static final class CancelingResponses extends CancelableStreamObserver<PeerResponse> {
    private final CountDownLatch ended = new CountDownLatch(1);

    @Override
    public void onNext(PeerResponse response) {
      cancel(new IllegalStateException("enough"));
      ended.countDown();
    }

    @Override
    public void onError(Throwable error) {
      ended.countDown();
    }

    @Override
    public void onCompleted() {
      ended.countDown();
    }
  }

  /** Waits until the server says that a call has been left. */
  private static void seen(PeerService service, String callId) throws InterruptedException {
    for (int i = 0; i < 100; i++) {
      if (service.watch(WatchRequest.newBuilder().setCallId(callId).build()).getCanceled()) return;
      Thread.sleep(20);
    }
    throw new AssertionError("the server did not see the end of the call");
  }

  /** Wants the call to fail with the code, and with the message unless that is null. */
  private static void fails(int code, String message, Cases.Case call) throws Throwable {
    try {
      call.run();
    } catch (StatusRpcException error) {
      check(code, message, error.getStatus());
      return;
    } catch (RpcException error) {
      for (Throwable cause = error; cause != null; cause = cause.getCause()) {
        if (cause instanceof StatusRpcException) {
          check(code, message, ((StatusRpcException) cause).getStatus());
          return;
        }
      }
      throw error;
    }
    throw new AssertionError("the call succeeded");
  }

  private static void check(int code, String message, TriRpcStatus status) {
    same(code, status.code.code);
    if (message != null) same(message, status.description);
  }

  private static void same(Object expected, Object actual) {
    if (!Objects.equals(expected, actual)) throw new AssertionError("expected " + expected + ", got " + actual);
  }

  private PeerClient() {}
}
