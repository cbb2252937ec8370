package com.example.interop;

import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.dubbo.common.stream.StreamObserver;
import org.apache.dubbo.rpc.CancellationContext;
import org.apache.dubbo.rpc.RpcContext;
import org.apache.dubbo.rpc.TriRpcStatus;

/** The service of the matrix, as peer.proto describes it. */
class PeerServiceImpl extends DubboPeerServiceTriple.PeerServiceImplBase {
  static final byte[] TRAILING_BYTES = {(byte) 0xab, (byte) 0xcd, (byte) 0xef, (byte) 0xff};

  private static final Set<String> CANCELED = ConcurrentHashMap.newKeySet();

  private final String selector;

  /** The group and version that the service is added under, as "group/version". */
  PeerServiceImpl(String selector) {
    this.selector = selector;
  }

  /** The data of a call, which is read before its thread does anything else. */
  private static final class Call implements AutoCloseable {
    private final Map<String, Object> attachments = RpcContext.getServerAttachment().getObjectAttachments();
    private final CancellationContext cancellation = RpcContext.getCancellationContext();

    Call() {
      RpcContext.getServerContext().setObjectAttachment("x-trailing", "yes");
      RpcContext.getServerContext().setObjectAttachment("x-bytes", TRAILING_BYTES);
      RpcContext.getServerContext().setObjectAttachment("x-camelCase", "yes");
    }

    /** Does what a request asks for when its responses have been sent. */
    void finish(PeerRequest request) {
      long end = System.currentTimeMillis() + request.getDelayMs();
      while (System.currentTimeMillis() < end) {
        if (cancellation.isCancelled()) {
          CANCELED.add(request.getCallId());
          throw TriRpcStatus.CANCELLED.asException();
        }
        try {
          Thread.sleep(10);
        } catch (InterruptedException error) {
          throw new IllegalStateException(error);
        }
      }
      if (!request.hasFailure()) return;
      Failure failure = request.getFailure();
      throw TriRpcStatus.fromCode(failure.getCode()).withDescription(failure.getMessage()).asException();
    }

    /** Removes the cancellation from the thread, because the next call would use it. */
    @Override
    public void close() {
      RpcContext.removeCancellationContext();
    }

    PeerResponse answer(String text, PeerRequest request, String selector) {
      PeerResponse.Builder response = PeerResponse.newBuilder()
        .setText(text)
        .setService(selector)
        .setNumber(request.getNumber())
        .setData(request.getData());
      attachments.forEach((name, value) -> {
        if (!name.toLowerCase().startsWith("x-")) return;
        if (value instanceof byte[]) {
          response.putMetadata(name + "-bin", Base64.getEncoder().withoutPadding().encodeToString((byte[]) value));
        } else {
          response.putMetadata(name, String.valueOf(value));
        }
      });
      return response.build();
    }
  }

  @Override
  public PeerResponse unary(PeerRequest request) {
    try (Call call = new Call()) {
      call.finish(request);
      return call.answer(request.getText(), request, selector);
    }
  }

  @Override
  public void serverStream(PeerRequest request, StreamObserver<PeerResponse> responses) {
    try (Call call = new Call()) {
      for (int i = 0; i < request.getResponses(); i++) {
        responses.onNext(call.answer(request.getText() + i, request, selector));
      }
      call.finish(request);
      responses.onCompleted();
    } catch (RuntimeException error) {
      responses.onError(error);
    }
  }

  @Override
  public StreamObserver<PeerRequest> clientStream(StreamObserver<PeerResponse> responses) {
    Call call = new Call();
    List<String> texts = new ArrayList<>();
    return new StreamObserver<>() {
      private PeerRequest last = PeerRequest.getDefaultInstance();

      @Override
      public void onNext(PeerRequest request) {
        texts.add(request.getText());
        last = request;
      }

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {
        try {
          call.finish(last);
          responses.onNext(call.answer(String.join(",", texts), last, selector));
          responses.onCompleted();
        } catch (RuntimeException error) {
          responses.onError(error);
        }
      }
    };
  }

  @Override
  public StreamObserver<PeerRequest> bidiStream(StreamObserver<PeerResponse> responses) {
    Call call = new Call();
    return new StreamObserver<>() {
      @Override
      public void onNext(PeerRequest request) {
        try {
          call.finish(request);
          responses.onNext(call.answer(request.getText(), request, selector));
        } catch (RuntimeException error) {
          responses.onError(error);
        }
      }

      @Override
      public void onError(Throwable error) {}

      @Override
      public void onCompleted() {
        responses.onCompleted();
      }
    };
  }

  @Override
  public WatchResponse watch(WatchRequest request) {
    return WatchResponse.newBuilder().setCanceled(CANCELED.contains(request.getCallId())).build();
  }
}
