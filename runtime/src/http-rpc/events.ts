/**
 * Server-sent events: responses of server streams over HTTP RPC (WHATWG HTML, section 9.2). Each message is an event with the
 * JSON of the message. The last event is `end`, or `failure` with the body of an error: without them, a page could not tell
 * the end of the stream from a lost connection, and `EventSource` would repeat the call.
 */
import { joinAll } from "../call/bytes.ts";
import type { StreamResponse } from "../call/call.ts";
import type { RpcError } from "../call/error.ts";
import { DONE, iteration } from "../call/message-stream.ts";
import { Metadata } from "../call/metadata.ts";
import { startBackgroundTimer } from "../call/platform.ts";
import type { OnError, OnStep, Step } from "../http/body.ts";
import type { Handler } from "../protocol/protocol.ts";
import type { ResolvedRouterOptions } from "../server/options.ts";
import { ResponseStream } from "../server/response-stream.ts";
import { type Formats, type HttpRpcCall, needsGrpc, type ResponseFormat } from "./content-type.ts";
import { encodeErrorBody, notAcceptable } from "./error-response.ts";
import { nextEvent } from "./event-fields.ts";
import { EVENT_TYPE, JSON_TYPE, qualityOf } from "./media-type.ts";

/** The fields of every response. Proxies must neither store, nor change, nor collect events. */
export const EVENT_HEADERS: Metadata = new Metadata({
  "content-type": EVENT_TYPE,
  "x-content-type-options": "nosniff",
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
}).freeze();

/** Time without a message after which a comment is sent, in milliseconds, because proxies end quiet connections. */
const QUIET_MS = 15_000;

const encoder = new TextEncoder();
const BLANK_LINE = encoder.encode("\n\n");
const END = encoder.encode("event: end\ndata:\n\n");
const COMMENT_LINE = encoder.encode(":\n\n");
/** Takes the place of a message while there is none. */
const COMMENT = {};

/** Selects the format of events. Throws if the method cannot be answered with events, or if `accept` does not allow them. */
export function chooseEvents(accept: string | undefined, formats: Formats, handler: Handler): ResponseFormat {
  const json = formats.responsesOf(handler).get(JSON_TYPE);
  if (json === undefined) throw needsGrpc(handler.method);
  if (accept === undefined || accept === "" || qualityOf(accept, EVENT_TYPE) > 0) return json;
  throw notAcceptable(accept, `a server stream over HTTP RPC is ${EVENT_TYPE}`);
}

/**
 * The body of a response. It begins with the first message, or when the handler calls `sendHeaders`: a call that fails earlier
 * has the response of any error.
 */
export class EventStream extends ResponseStream<HttpRpcCall> {
  #isOver = false;

  constructor(call: HttpRpcCall, { messages }: StreamResponse, options: ResolvedRouterOptions) {
    super(call, withComments(messages), (message) => this.#encode(message), options);
  }

  override request(onStep: OnStep, onError: OnError): Step | undefined {
    return this.#isOver ? DONE : super.request(onStep, onError);
  }

  #encode(message: object): Uint8Array {
    if (message === COMMENT) return COMMENT_LINE;
    const { context, handler, headers, payload } = this.call;
    const fields = context.values.get(nextEvent);
    if (fields !== undefined) context.values.set(nextEvent, undefined);
    const data = headers.responseFormat.encode(message, (payload ?? handler).method, payload);
    return event(linesOf(fields), data);
  }

  protected override succeed(): Step {
    this.#isOver = true;
    return { done: false, value: END };
  }

  protected override fail(error: RpcError): Step {
    this.#isOver = true;
    return { done: false, value: event("event: failure\n", encodeErrorBody(error, this.options.registry)) };
  }
}

/** Yields the messages, and {@link COMMENT} after each time without one. */
function withComments(source: AsyncIterable<object>): AsyncIterable<object> {
  let messages: AsyncIterator<object> | undefined;
  const begin = (): AsyncIterator<object> => (messages ??= source[Symbol.asyncIterator]());
  let pending: Promise<IteratorResult<object, undefined>> | undefined;
  let onSettled: (() => void) | undefined;
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
    onSettled?.();
  };
  const next = (): Promise<IteratorResult<object, undefined>> => {
    if (pending === undefined) {
      isSettled = false;
      pending = Promise.resolve(begin().next());
      // Callbacks for each comment would stay in memory until the message.
      pending.then(settle, settle);
    }
    return new Promise((resolve) => {
      const stop = startBackgroundTimer(QUIET_MS, () => {
        onSettled = undefined;
        resolve({ done: false, value: COMMENT });
      });
      onSettled = () => {
        stop();
        resolve(pending as NonNullable<typeof pending>);
        pending = undefined;
      };
      if (isSettled) onSettled();
    });
  };
  return iteration(next, () => begin().return?.());
}

//     event = *( field LF ) LF     field = "id: " text / "retry: " 1*DIGIT / "event: " name / "data:" [ " " text ]
function event(head: string, data: Uint8Array): Uint8Array {
  return joinAll([encoder.encode(`${head}data: `), withoutLineEnds(data), BLANK_LINE]);
}

/** A codec may write JSON in several lines: each of them is a field of its own. */
function withoutLineEnds(data: Uint8Array): Uint8Array {
  if (!data.includes(0x0a) && !data.includes(0x0d)) return data;
  return encoder.encode(new TextDecoder().decode(data).replaceAll(/\r\n?|\n/g, "\ndata: "));
}

function linesOf({ id, retryMs }: NonNullable<(typeof nextEvent)["defaultValue"]> = {}): string {
  if (id !== undefined && /[^ -~]/.test(id)) {
    throw new TypeError("the id of an event must be printable ASCII, because it returns in a header");
  }
  if (retryMs !== undefined && !(Number.isSafeInteger(retryMs) && retryMs >= 0)) {
    throw new TypeError(`the property retryMs of an event must be an integer of at least 0, not ${retryMs}`);
  }
  return (id === undefined ? "" : `id: ${id}\n`) + (retryMs === undefined ? "" : `retry: ${retryMs}\n`);
}
