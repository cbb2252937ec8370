/**
 * OpenTelemetry: interceptors that record a span and the duration of every call, by the semantic conventions for RPC, and
 * propagate the trace from client to server in the metadata. Requires the package `@opentelemetry/api`.
 */

import {
  type Attributes,
  type Context,
  context,
  createNoopMeter,
  isSpanContextValid,
  type Meter,
  metrics,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapGetter,
  type TextMapSetter,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { CallRequest, Interceptor, Method } from "../call/call.ts";
import { Code } from "../call/code.ts";
import type { RpcError } from "../call/error.ts";
import { type Metadata, TripleHeader } from "../call/metadata.ts";
import { assertOneOf } from "../call/option.ts";
import type { Peer } from "../call/peer.ts";
import { VERSION } from "../version.ts";
import {
  type CallSpans,
  canonicalTarget,
  createRetryMetrics,
  observeAttempts,
  statusOf,
  traceAttempts,
} from "./attempt-telemetry.ts";
import { createCallMetrics, createLabels, createMeasure, observeRunning } from "./call-metrics.ts";
import { observe } from "./observer.ts";

/** Options of the interceptors for traces and metrics. */
export interface TelemetryOptions {
  /** The tracer that creates the spans. Default: the tracer `triple-es` of the global provider. */
  readonly tracer?: Tracer | undefined;
  /** The meter that creates the instruments of `metrics`. Default: the meter `triple-es` of the global provider. */
  readonly meter?: Meter | undefined;
  /**
   * `rpc`: the histograms `rpc.client.call.duration` and `rpc.server.call.duration`, in seconds. `grpc`: gRPC's metrics of
   * calls and attempts (gRFC A66) instead. Attempts are seen on transports of `triple-es/node` and in memory, sizes over gRPC.
   * Default: `rpc`.
   */
  readonly metrics?: "rpc" | "grpc" | undefined;
  /**
   * `rpc`: a span for each call. `grpc`: gRPC's spans (gRFC A72) instead, named `Sent.`, `Attempt.` for each attempt of a call,
   * and `Recv.` on a server, which is a child of the attempt. They have no events of messages. Default: `rpc`.
   */
  readonly traces?: "rpc" | "grpc" | undefined;
  /** The value of the attribute `rpc.system.name`. Default: `dubbo`, the system that Triple belongs to. */
  readonly system?: "dubbo" | "grpc" | undefined;
}

/** Options of {@link createClientTelemetry}. */
export interface ClientTelemetryOptions extends TelemetryOptions {
  /**
   * The URL of the transport, for the attributes `server.address` and `server.port`. The URL of a target or registry, such as
   * `zookeeper://127.0.0.1:2181/shop.v1.Shop`, is the address as a whole. It is also `grpc.target`, as `dns:///host:port`.
   * Default: the attributes are omitted.
   */
  readonly baseUrl?: string | undefined;
}

/** Codes that report a fault of the server, not of the client: they mark the server's span as failed. */
const SERVER_ERRORS: ReadonlySet<Code> = new Set([
  Code.Unknown,
  Code.DeadlineExceeded,
  Code.Unimplemented,
  Code.Internal,
  Code.Unavailable,
  Code.DataLoss,
]);

/**
 * Creates an interceptor that traces the calls of a transport. Each call has a span of kind client, from its start to its
 * last message. The metadata carries the span's context as the global propagator encodes it, and its ids in the headers
 * `tri-trace-traceid` and `tri-trace-rpcid` of the specification.
 */
export function createClientTelemetry(options: ClientTelemetryOptions = {}): Interceptor {
  const { tracer, meter, isGrpc, isTracedAsGrpc, grpcLabelsOf, start } = prepare("client", options, options.baseUrl);
  const recordRetries = createRetryMetrics(meter, (request) => grpcLabelsOf(request).common);
  const calls: CallSpans | undefined = isTracedAsGrpc ? new WeakMap() : undefined;
  const interceptor: Interceptor = (next) => (request) => {
    const { headers } = request;
    const outer = context.active();
    const call = start(request, outer, outer);
    inject(call?.active ?? outer, headers);
    if (call === undefined) return next(request);
    const { span, active, run, ended } = call;
    calls?.set(request.context.values, active);
    if (active !== outer) {
      // The ids of an active span are valid, so they are hexadecimal.
      const { traceId, spanId } = span.spanContext();
      if (!headers.has(TripleHeader.TraceId)) headers.appendRaw([TripleHeader.TraceId, traceId]);
      if (!headers.has(TripleHeader.SpanId)) headers.appendRaw([TripleHeader.SpanId, spanId]);
    }
    return observe(next, request, {
      run,
      ended(error) {
        recordRetries(request, span);
        if (span.isRecording()) span.setAttributes(endpointAttributes(request.context.target));
        ended(error);
      },
    });
  };
  const measure = isGrpc ? createMeasure(meter, "grpc.client.attempt") : undefined;
  observeAttempts(interceptor, [
    ...(measure ? [(request: CallRequest) => measure(request.context, grpcLabelsOf(request))] : []),
    ...(calls ? [traceAttempts(tracer, calls, inject, endAttempt)] : []),
  ]);
  return interceptor;
}

/**
 * Creates an interceptor that traces the calls of a server. Each call has a span of kind server, which is a child of the
 * client's span if the metadata carries its context. The span is active while the handler runs.
 */
export function createServerTelemetry(options: TelemetryOptions = {}): Interceptor {
  const { start } = prepare("server", options);
  return (next) => (request) => {
    const current = context.active();
    const call = start(request, current, propagation.extract(current, request.headers, metadataGetter));
    if (call === undefined) return next(request);
    if (call.span.isRecording()) call.span.setAttributes(peerAttributes(request.context.peer));
    return observe(next, request, call);
  };
}

function prepare(side: "client" | "server", options: TelemetryOptions, url?: string) {
  const isClient = side === "client";
  const isGrpc = assertOneOf("metrics", options.metrics ?? "rpc", ["rpc", "grpc"]) === "grpc";
  const tracer = options.tracer ?? trace.getTracer("triple-es", VERSION);
  const meter = options.meter ?? metrics.getMeter("triple-es", VERSION);
  const isSilent = meter === createNoopMeter();
  const begin = createCallMetrics(meter, side, isGrpc);
  const running = observeRunning(meter);
  const isTracedAsGrpc = assertOneOf("traces", options.traces ?? "rpc", ["rpc", "grpc"]) === "grpc";
  const common = { "rpc.system.name": options.system ?? "dubbo", ...serverAttributes(url) };
  const target = url && { "grpc.target": canonicalTarget(url) };
  const outcomeOf = createLabels({}, (error) => {
    const code = statusOf(error);
    const isFault = error !== undefined && (isClient || isTracedAsGrpc || SERVER_ERRORS.has(error.code));
    return { "rpc.status_code": code, ...(isFault && { "error.type": code }) };
  }).ended;
  const spansOf = byMethod(({ service, name }) => {
    const attributes = { ...common, "rpc.method": `${service}/${name}` };
    return {
      name: isTracedAsGrpc ? `${isClient ? "Sent" : "Recv"}.${service}.${name}` : attributes["rpc.method"],
      options: { kind: isClient ? SpanKind.CLIENT : SpanKind.SERVER, attributes },
      rpcLabels: createLabels(attributes, outcomeOf),
    };
  });
  const grpcLabelsOf = byMethod(({ service, name }) =>
    createLabels({ "grpc.method": `${service}/${name}`, ...target }, (error) => ({ "grpc.status": statusOf(error) })),
  );
  /** Starts the span and the metrics of a call. Returns its observer; `undefined` if there is nothing to observe. */
  const start = (request: CallRequest, current: Context, outer: Context) => {
    const { name, options, rpcLabels } = spansOf(request);
    const span = tracer.startSpan(name, options, outer);
    // A span without ids, such as one without a tracer provider, is not active. Spans that record have ids.
    const isActive = span.isRecording() || isSpanContextValid(span.spanContext());
    const active = isActive ? trace.setSpan(outer, span) : outer;
    if (isSilent && active === current) return undefined;
    running[side]++;
    const record = begin(request.context, isGrpc ? grpcLabelsOf(request) : rpcLabels);
    const run = <T>(work: () => T): T =>
      !isActive && active === context.active() ? work() : context.with(active, work);
    const ended = (error: RpcError | undefined): void => {
      running[side]--;
      if (span.isRecording()) {
        const outcome = outcomeOf(error);
        if (error !== undefined && "error.type" in outcome) {
          span.setStatus({ code: SpanStatusCode.ERROR, message: error.rawMessage });
          span.recordException(error.cause instanceof Error ? error.cause : error);
        } else if (isTracedAsGrpc) span.setStatus({ code: SpanStatusCode.OK });
        span.setAttributes(outcome);
      }
      span.end();
      record(error, active);
    };
    return { span, active, run, ended };
  };
  return { tracer, meter, isGrpc: isGrpc && !isSilent, isTracedAsGrpc, grpcLabelsOf, start };
}

/** Returns a function that makes a value for each method once: copies of attributes would cost more than the rest of a call. */
function byMethod<T>(make: (method: Method) => T): (request: CallRequest) => T {
  const made = new WeakMap<Method, T>();
  return ({ method }) => {
    let known = made.get(method);
    if (known === undefined) {
      known = make(method);
      made.set(method, known);
    }
    return known;
  };
}

function endAttempt(span: Span, error: RpcError | undefined, request: CallRequest): void {
  span.setAttributes({ "rpc.status_code": statusOf(error), ...endpointAttributes(request.context.target) });
  span.setStatus(error ? { code: SpanStatusCode.ERROR, message: error.rawMessage } : { code: SpanStatusCode.OK });
  span.end();
}

/** Writes the trace context of an active span into the headers, as the global propagator encodes it. */
function inject(active: Context, headers: Metadata): void {
  propagation.inject(active, headers, metadataSetter);
}

function serverAttributes(url: string | undefined): Attributes {
  if (url === undefined) return {};
  const { hostname, port, protocol } = new URL(url);
  if (!protocol.startsWith("http")) return { "server.address": url };
  const address = hostname.replace(/^\[|\]$/g, "");
  return { "server.address": address, "server.port": Number(port || (protocol === "https:" ? 443 : 80)) };
}

// endpoint = ( IPv4address / "[" IPv6address "]" ) ":" port
const ENDPOINT = /^(?:\[([\da-f:.]+)\]|([\d.]+)):(\d+)$/i;

/** Returns the attributes of the last endpoint of a call. Names of hosts and targets are no addresses. */
function endpointAttributes(target: string | undefined = ""): Attributes {
  if (target.startsWith("/")) return peerAttributes({ address: target });
  const matched = ENDPOINT.exec(target);
  return peerAttributes({ address: matched?.[1] ?? matched?.[2], port: Number(matched?.[3]) });
}

/** Returns the attributes of a peer. Only spans have them: in metrics, their cardinality would be too high. */
function peerAttributes({ address, port }: Partial<Pick<Peer, "address" | "port">> = {}): Attributes {
  if (address === undefined) return {};
  return port ? { "network.peer.address": address, "network.peer.port": port } : { "network.peer.address": address };
}

const metadataSetter: TextMapSetter<Metadata> = {
  set(headers, name, value) {
    try {
      headers.set(name, value);
    } catch {
      // Metadata cannot carry every field of a propagator, such as an empty one. Omitting the field must not fail the call.
    }
  },
};

const metadataGetter: TextMapGetter<Metadata> = {
  get: (headers, name) => headers.get(name),
  keys: (headers) => [...new Set([...headers].map(([name]) => name))],
};
