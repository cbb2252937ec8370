/**
 * Server streams over HTTP RPC, client half: the response is server-sent events, with messages in JSON. The stream ends with the
 * event `end`, or with the body, because Dubbo for Java sends no such event; it fails with the event `failure`.
 */
import type { RequestContext } from "../call/attempt.ts";
import type { Call, StreamRequest, StreamResponse } from "../call/call.ts";
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { onlyMessage } from "../call/message-stream.ts";
import { requestCountError } from "../call/outcome.ts";
import { resolvedWithin } from "../call/timer.ts";
import { takeTurn } from "../call/turn.ts";
import { type Codec, jsonCodec } from "../codec/codec.ts";
import { cancelBody, endWith } from "../http/body.ts";
import type { Exchange, HttpResponse } from "../http/exchange.ts";
import { badResponse, clipText, decodingReason, localError } from "../protocol/error.ts";
import type { UnaryOptions } from "../protocol/options.ts";
import type { HttpRpcPayload, PayloadOptions } from "../protocol/payload.ts";
import { EventReader, type ReceivedEvent } from "./event-reader.ts";
import { splitMetadata } from "./headers.ts";
import { EVENT_TYPE, JSON_TYPE } from "./media-type.ts";
import { readErrorResponse } from "./status.ts";
import { createUnaryCall, type UnaryCall } from "./unary-client.ts";

/** Dubbo for Java takes the format of the messages from `accept`, and sends events in any case. */
const ACCEPT = `${JSON_TYPE}, ${EVENT_TYPE}`;
/**
 * The event in which Dubbo for Java reports an error, with its HTTP status. It has no name, so it is an error only as the last one
 * of a stream without the event `end`.
 */
const UNNAMED_ERROR = /^\{"message":"(?:[^"\\]|\\.)*","status":"([45][0-9]{2})"\}$/;
/** The time for the end of the body after the last event, in milliseconds: to leave it resets a stream, or ends a connection. */
const END_MS = 1_000;
const encoder = new TextEncoder();

/**
 * Adds server streams to a unary call. `payloadOf` makes the payload of methods whose messages have a schema; events are JSON, in
 * `codec` if it is one. Streams of other kinds are rejected as unimplemented.
 */
export function withEvents(
  unary: UnaryCall,
  exchange: Exchange,
  codec: Codec,
  payloadOf: (codec: Codec) => HttpRpcPayload,
  options: UnaryOptions & PayloadOptions,
): Call {
  const events = createEventCall(exchange, payloadOf(codec.name === "json" ? codec : jsonCodec), options);
  return (request) => (request.stream ? events(request) : unary(request));
}

function createEventCall(
  exchange: Exchange,
  schemas: HttpRpcPayload,
  options: UnaryOptions & PayloadOptions,
): (request: StreamRequest) => Promise<StreamResponse> {
  const asking: Exchange = (request) => {
    // The headers object is used by this request only, so it can be changed.
    request.headers.set("accept", ACCEPT);
    return exchange(request);
  };
  const call = createUnaryCall(asking, schemas, options, ({ method, context }, payload, response): StreamResponse => {
    const metadata = splitMetadata(response.headers);
    checkType(method.path, response);
    const chunks = response.body[Symbol.asyncIterator]();

    async function* receive(): AsyncGenerator<object, undefined> {
      let code: Code | undefined;
      try {
        for await (const { name, data } of readEvents(chunks, options.maxMessageBytes)) {
          if (name === "" || name === "message") yield await decode(data);
          if (name !== "end" && name !== "failure") continue;
          await resolvedWithin(chunks.next(), END_MS);
          if (name === "end") return;
          const status = Number(UNNAMED_ERROR.exec(data)?.[1] ?? 500);
          const error = readErrorResponse(method.path, status, encoder.encode(data), metadata);
          code = error.code;
          throw error;
        }
      } finally {
        (context as RequestContext).onCode?.(code);
      }
    }

    async function decode(data: string): Promise<object> {
      await takeTurn(data.length);
      try {
        return await payload.decodeResponse(method, encoder.encode(data), options);
      } catch (cause) {
        if (cause instanceof RpcError) throw localError(cause, Status.BadResponse);
        const wanted = method.output?.typeName ?? `a result of ${method.path}`;
        throw badResponse(`an event cannot be decoded as ${wanted}: ${decodingReason(cause)}`, cause);
      }
    }

    return { stream: true, messages: endWith(chunks, receive()), ...metadata };
  });
  return async (request) => {
    const { method, messages } = request;
    if (method.kind !== "server_streaming") {
      const problem = `${method.path} is ${method.kind.replace("_", " ")}, which HTTP RPC cannot carry: it needs gRPC`;
      throw new RpcError(Code.Unimplemented, problem, { status: Status.ClientError });
    }
    const message = await onlyMessage(messages, (received) => requestCountError(method, received)).catch((reason) => {
      throw localError(reason);
    });
    return call({ ...request, stream: false, message });
  };
}

/** Throws for a response that is not a stream of events. */
function checkType(path: string, { headers, body }: HttpResponse): void {
  const contentType = headers.get("content-type") ?? "";
  if (contentType.split(";")[0]?.trim().toLowerCase() === EVENT_TYPE) return;
  cancelBody(body);
  throw badResponse(`${path} answered with ${clipText(contentType, 100) || "no content type"}, not ${EVENT_TYPE}`);
}

/** Yields the events of a body. Errors of Dubbo for Java become events like ours. */
async function* readEvents(
  chunks: AsyncIterator<Uint8Array, undefined>,
  maxBytes: number,
): AsyncGenerator<ReceivedEvent, undefined> {
  const reader = new EventReader(maxBytes);
  /** An event that is an error if no other one follows. */
  let held: ReceivedEvent | undefined;
  try {
    for (;;) {
      for (let event = reader.next(); event !== undefined; event = reader.next()) {
        if (held !== undefined) yield held;
        held = event.name === "" && UNNAMED_ERROR.test(event.data) ? event : undefined;
        if (held === undefined) yield event;
      }
      const step = await chunks.next();
      if (step.done) break;
      reader.push(step.value);
    }
  } catch (reason) {
    throw localError(reason, Status.BadResponse);
  } finally {
    void chunks.return?.().catch(() => {});
  }
  const isCut = reader.end();
  const data = reader.stray ?? held?.data;
  if (data !== undefined) yield { name: "failure", data };
  else if (isCut) throw badResponse("the body ended within an event");
}
