/**
 * OpenTelemetry: interceptors that record a span and the duration of every call, by the semantic conventions for RPC, and
 * propagate the trace from client to server in the metadata. Requires the package `@opentelemetry/api`.
 */

import {
  type Attributes,
  type Context,
  context,
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
import type { CallContext, CallRequest, Interceptor } from "../call/call.ts";
import { Code } from "../call/code.ts";
import type { RpcError } from "../call/error.ts";
import { type Metadata, TripleHeader } from "../call/metadata.ts";
import { assertOneOf } from "../call/option.ts";
import { now } from "../call/platform.ts";
import { VERSION } from "../version.ts";
import {
  type CallSpans,
  canonicalTarget,
  createRetryInstruments,
  hasRetries,
  observeAttempts,
  recordRetries,
  statusOf,
  traceAttempts,
} from "./attempt-telemetry.ts";
import { createDuration, createMeasure } from "./call-metrics.ts";
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

/** Histogram boundaries in seconds, as the semantic conventions recommend. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/**
 * Codes that mark a server's span as failed, because they report a fault of the server. The other codes report a fault of
 * the client.
 */
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
 *
 *     createTransport({ baseUrl, interceptors: [createClientTelemetry({ baseUrl })] });
 */
export function createClientTelemetry(options: ClientTelemetryOptions = {}): Interceptor {
  const { baseUrl } = options;
  const { tracer, meter, isGrpc, isTracedAsGrpc, spanName, begin, attributes } = prepare("client", options);
  const retries = createRetryInstruments(meter);
  const server = serverAttributes(baseUrl);
  const target = baseUrl && { "grpc.target": canonicalTarget(baseUrl) };
  const labelsOf = (request: CallRequest) => ({ "grpc.method": methodName(request), ...target });
  const calls: CallSpans | undefined = isTracedAsGrpc ? new WeakMap() : undefined;
  const interceptor: Interceptor = (next) => (request) => {
    const known = { ...attributes, ...server, "rpc.method": methodName(request) };
    const span = tracer.startSpan(spanName(request), { kind: SpanKind.CLIENT, attributes: known });
    const active = trace.setSpan(context.active(), span);
    calls?.set(request.context.values, active);
    const ids = span.spanContext();
    // Without a tracer provider, the ids are invalid.
    if (isSpanContextValid(ids)) {
      setDefault(request.headers, TripleHeader.TraceId, ids.traceId);
      setDefault(request.headers, TripleHeader.SpanId, ids.spanId);
    }
    inject(active, request.headers);
    const ended = begin(request.context, isGrpc ? labelsOf(request) : known);
    const observer = record({ span, ended, active, isTracedAsGrpc, isError: () => true });
    return observe(next, request, {
      run: observer.run,
      ended(error) {
        if (hasRetries()) recordRetries(request.context, labelsOf(request), span, retries);
        span.setAttributes(endpointAttributes(request.context.target));
        observer.ended(error);
      },
    });
  };
  const measure = isGrpc ? createMeasure(meter, "grpc.client.attempt") : undefined;
  observeAttempts(interceptor, [
    ...(measure ? [(request: CallRequest) => measure(request.context, labelsOf(request))] : []),
    ...(calls ? [traceAttempts(tracer, calls, inject, endAttempt)] : []),
  ]);
  return interceptor;
}

/**
 * Creates an interceptor that traces the calls of a server. Each call has a span of kind server, which is a child of the
 * client's span if the metadata carries its context. The span is active while the handler runs.
 */
export function createServerTelemetry(options: TelemetryOptions = {}): Interceptor {
  const { tracer, isGrpc, isTracedAsGrpc, spanName, begin, attributes } = prepare("server", options);
  return (next) => (request) => {
    const parent = propagation.extract(context.active(), request.headers, metadataGetter);
    const known = { ...attributes, "rpc.method": methodName(request) };
    const ofSpan = { ...known, ...peerAttributes(request.context.peer?.address, request.context.peer?.port) };
    const span = tracer.startSpan(spanName(request), { kind: SpanKind.SERVER, attributes: ofSpan }, parent);
    const active = trace.setSpan(parent, span);
    const isError = ({ code }: RpcError): boolean => isTracedAsGrpc || SERVER_ERRORS.has(code);
    const ended = begin(request.context, isGrpc ? { "grpc.method": known["rpc.method"] } : known);
    return observe(next, request, record({ span, ended, active, isTracedAsGrpc, isError }));
  };
}

/** Records the end of a call in the context of its span, with the attributes of its outcome. */
type RecordEnd = (error: RpcError | undefined, outcome: Attributes, active: Context) => void;

function prepare(side: "client" | "server", options: TelemetryOptions) {
  const isGrpc = assertOneOf("metrics", options.metrics ?? "rpc", ["rpc", "grpc"]) === "grpc";
  const tracer = options.tracer ?? trace.getTracer("triple-es", VERSION);
  const meter = options.meter ?? metrics.getMeter("triple-es", VERSION);
  const begin = isGrpc ? beginGrpc(side, meter) : beginRpc(side, meter);
  const isTracedAsGrpc = assertOneOf("traces", options.traces ?? "rpc", ["rpc", "grpc"]) === "grpc";
  const prefix = side === "client" ? "Sent" : "Recv";
  const spanName = isTracedAsGrpc
    ? ({ method }: CallRequest) => `${prefix}.${method.service}.${method.name}`
    : methodName;
  const attributes = { "rpc.system.name": options.system ?? "dubbo" };
  return { tracer, meter, isGrpc, isTracedAsGrpc, spanName, begin, attributes };
}

function beginGrpc(side: "client" | "server", meter: Meter): (context: CallContext, labels: Attributes) => RecordEnd {
  if (side === "server") return createMeasure(meter, "grpc.server.call");
  const description = "Time taken by gRPC to complete an RPC from application's perspective.";
  return createDuration(meter, "grpc.client.call", description);
}

function beginRpc(side: "client" | "server", meter: Meter): (context: CallContext, known: Attributes) => RecordEnd {
  const histogram = meter.createHistogram(`rpc.${side}.call.duration`, {
    unit: "s",
    description: side === "client" ? "Duration of outbound calls" : "Duration of inbound calls",
    advice: { explicitBucketBoundaries: BUCKETS },
  });
  return (_, known) => {
    const start = now();
    return (_, outcome, active) => histogram.record((now() - start) / 1000, { ...known, ...outcome }, active);
  };
}

interface Recording {
  readonly span: Span;
  readonly ended: RecordEnd;
  readonly active: Context;
  /** True if the span of a successful call has the status OK. */
  readonly isTracedAsGrpc: boolean;
  readonly isError: (error: RpcError) => boolean;
}

/** Creates the observer that runs a call in the span's context and records its outcome. */
function record({ span, ended, active, isTracedAsGrpc, isError }: Recording) {
  return {
    run: <T>(work: () => T): T => context.with(active, work),
    ended(error: RpcError | undefined): void {
      const code = statusOf(error);
      const outcome: Attributes = { "rpc.status_code": code };
      if (error !== undefined && isError(error)) {
        outcome["error.type"] = code;
        span.setStatus({ code: SpanStatusCode.ERROR, message: error.rawMessage });
        span.recordException(error.cause instanceof Error ? error.cause : error);
      } else if (isTracedAsGrpc) span.setStatus({ code: SpanStatusCode.OK });
      span.setAttributes(outcome);
      span.end();
      ended(error, outcome, active);
    },
  };
}

function endAttempt(span: Span, error: RpcError | undefined, request: CallRequest): void {
  span.setAttributes({ "rpc.status_code": statusOf(error), ...endpointAttributes(request.context.target) });
  if (error === undefined) span.setStatus({ code: SpanStatusCode.OK });
  else span.setStatus({ code: SpanStatusCode.ERROR, message: error.rawMessage });
  span.end();
}

/** Writes the trace context of an active span into the headers, as the global propagator encodes it. */
function inject(active: Context, headers: Metadata): void {
  propagation.inject(active, headers, metadataSetter);
}

/** Returns the name of a method in the form of the conventions, `service/Method`, which is also the name of the span. */
function methodName({ method }: CallRequest): string {
  return `${method.service}/${method.name}`;
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
  if (target.startsWith("/")) return peerAttributes(target, undefined);
  const [, ipv6, ipv4, port] = ENDPOINT.exec(target) ?? [];
  return peerAttributes(ipv6 ?? ipv4, Number(port));
}

/** Returns the attributes of a peer. Only spans have them: in metrics, their cardinality would be too high. */
function peerAttributes(address: string | undefined, port: number | undefined): Attributes {
  return address === undefined ? {} : { "network.peer.address": address, ...(port && { "network.peer.port": port }) };
}

function setDefault(headers: Metadata, name: string, value: string): void {
  if (!headers.has(name)) headers.set(name, value);
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
