/**
 * Records of calls for `triple-es replay`: a finished call as a line of JSON, with its messages, metadata and status.
 */
import { toJson } from "@bufbuild/protobuf";
import { type Call, type CallRequest, type CallResponse, type Method, payloadOf } from "../call/call.ts";
import { codeName } from "../call/code.ts";
import { mapEach } from "../call/message-stream.ts";
import type { Metadata } from "../call/metadata.ts";
import { now, wallClock } from "../call/platform.ts";
import { toMessage } from "../codec/codec.ts";
import { observe } from "./observer.ts";
import { REDACTED, redactMessage } from "./redaction.ts";

/** Most messages of a call that a record has, in each direction. */
const MAX_MESSAGES = 1_000;
/** Maximum length of the messages of a call in a record, in each direction, in characters of JSON. */
const MAX_TEXT_LENGTH = 64 * 1024;

const SENSITIVE_METADATA = ["authorization", "cookie", "proxy-authorization", "set-cookie"];

/** The names of metadata and of message fields whose values a record does not have. */
export interface RedactedNames {
  readonly metadata: ReadonlySet<string>;
  /** Replaces the values of fields with these names, for `JSON.stringify`. `undefined`: there are none. */
  readonly replace: ((name: string, value: unknown) => unknown) | undefined;
}

/** Returns the names that are redacted: those given, and those of metadata with credentials. */
export function redactedNames(given: readonly string[]): RedactedNames {
  const fields = new Set(given);
  return {
    metadata: new Set([...SENSITIVE_METADATA, ...given.map((name) => name.toLowerCase())]),
    replace: fields.size === 0 ? undefined : (name, value) => (fields.has(name) ? REDACTED : value),
  };
}

/** Runs a call, and calls `write` with its record when it has ended. */
export function recordCall(
  next: Call,
  request: CallRequest,
  names: RedactedNames,
  write: (line: string) => void,
): Promise<CallResponse> {
  const { method, selector } = request;
  const start = now();
  // The headers are read now, because interceptors may change them in place.
  const head = { time: new Date(wallClock()).toISOString(), method: method.path, kind: method.kind, selector };
  const before = JSON.stringify({ ...head, headers: fieldsOf(request.headers, names) });
  const requests = new KeptMessages(method, "request", names);
  const responses = new KeptMessages(method, "response", names);
  let response: CallResponse | undefined;
  const call: Call = async (request) => {
    response = await next(request);
    if (response?.stream) return { ...response, messages: responses.tap(response.messages) };
    if (response !== undefined) responses.add(response.message);
    return response;
  };
  if (!request.stream) requests.add(request.message);
  const tapped = request.stream ? { ...request, messages: requests.tap(request.messages) } : request;
  return observe(call, tapped, {
    ended(error) {
      const { headers, trailers } = error ?? response ?? {};
      const omitted = requests.omitted + responses.omitted;
      const end = JSON.stringify({
        code: error === undefined ? "ok" : codeName(error.code),
        message: error?.rawMessage,
        details: error?.details.map(({ typeUrl }) => typeUrl),
        responseHeaders: headers && fieldsOf(headers, names),
        trailers: trailers && fieldsOf(trailers, names),
        durationMs: Number((now() - start).toFixed(3)),
        omitted: omitted === 0 ? undefined : omitted,
        payload: isWrapped(method) ? "wrapped" : undefined,
      });
      write(`${before.slice(0, -1)},"requests":[${requests.texts}],"responses":[${responses.texts}],${end.slice(1)}\n`);
    },
  });
}

function fieldsOf(metadata: Metadata, { metadata: names }: RedactedNames): Record<string, string | undefined> {
  const fields: Record<string, string | undefined> = {};
  for (const [name] of metadata) fields[name] = names.has(name) ? REDACTED : metadata.get(name);
  return fields;
}

/** The payload of a contract's method, whose messages are converted to JSON; that of a Java interface has no conversion. */
type JsonPayload = Readonly<Partial<Record<"request" | "response", { toJson(message: unknown): unknown }>>>;

function isWrapped(method: Method): boolean {
  return method.payload !== undefined && payloadOf<JsonPayload>(method)?.request === undefined;
}

/** The first messages of one direction of a call, as JSON texts. */
class KeptMessages {
  readonly texts: string[] = [];
  /** Number of messages beyond the limits, and from the first one without JSON, such as an `Any` of an unknown type. */
  omitted = 0;
  #length = 0;
  readonly #textOf: (message: object) => string | undefined;

  constructor(method: Method, side: "request" | "response", { replace }: RedactedNames) {
    const type = side === "request" ? method.input : method.output;
    const contract = payloadOf<JsonPayload>(method)?.[side];
    this.#textOf = (message) => {
      if (type === undefined) return JSON.stringify(contract ? contract.toJson(message) : message, replace);
      const json = toJson(type, toMessage(type, message));
      redactMessage(type, json);
      return JSON.stringify(json, replace);
    };
  }

  add(message: object): void {
    try {
      const text = this.omitted > 0 || this.texts.length >= MAX_MESSAGES ? undefined : this.#textOf(message);
      this.#length += text?.length ?? 0;
      if (text === undefined || this.#length > MAX_TEXT_LENGTH) this.omitted += 1;
      else this.texts.push(text);
    } catch {
      this.omitted += 1;
    }
  }

  /** Adds each message of a stream when it is read. */
  tap(messages: AsyncIterable<object>): AsyncIterable<object> {
    return mapEach(messages, (message) => {
      this.add(message);
      return message;
    });
  }
}
