/**
 * Replays the transcripts in fixtures/wire from both sides: a router must answer the request with the response, and a
 * client that makes the call must send the request and return the content of the response.
 */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type CallOptions, Metadata, RpcError } from "triple-es";
import { brotli, deflate, gzip } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { GreetServiceClient, GreetServiceHandler } from "../examples/gen/greet/v1/greet_triple.ts";
import { ParametersServiceDef } from "../fixtures/gen/fixture/parameters/v1/parameters_triple.ts";
import { type Codec, jsonCodec, protoCodec } from "../runtime/src/codec/codec.ts";
import type { Compression } from "../runtime/src/codec/compression.ts";
import { createGrpcClient } from "../runtime/src/grpc/client.ts";
import { streamBody } from "../runtime/src/http/body.ts";
import { createHttpRpcClient } from "../runtime/src/http-rpc/client.ts";
import type { HandlerContext } from "../runtime/src/server/handler-context.ts";
import { chunked, routeGreeter, wireClient } from "./support/greeter.ts";
import { ECHO, EVERY_BODY } from "./support/parameters.ts";
import { greeter } from "./support/server.ts";
import {
  bytesOf,
  comparable,
  type Field,
  type Message,
  parseCode,
  parseHex,
  parseTranscript,
  partsOf,
  showError,
  type Transcript,
} from "./support/transcript.ts";

/** A custom codec and a custom compression: protobuf in base64, and all bytes in reverse order. */
const ownCodec: Codec = {
  name: "x-proto-text",
  encode: (type, message) => Buffer.from(Buffer.from(protoCodec.encode(type, message)).toString("base64")),
  decode: (type, bytes) => protoCodec.decode(type, Buffer.from(Buffer.from(bytes).toString(), "base64")),
};
const ownCompression: Compression = {
  name: "x-reverse",
  compress: (bytes) => Uint8Array.from(bytes).reverse(),
  decompress: (bytes) => Uint8Array.from(bytes).reverse(),
};
const FOLDER = fileURLToPath(new URL("../fixtures/wire/", import.meta.url));
const files = readdirSync(FOLDER).filter((file) => file.endsWith(".txt"));

/** Returns the only note of the given kind, parsed as JSON. */
const given = <T>({ notes }: Transcript, key: string, otherwise: T): T => {
  const [text] = notes.get(key) ?? [];
  return text === undefined ? otherwise : (JSON.parse(text) as T);
};

const fieldsOf = (lines: readonly string[] = []): string[] => [...lines].sort();
const show = (fields: Metadata): string[] => [...fields].map(([name, value]) => `${name}: ${value}`).sort();
const metadataOf = (fields: readonly Field[]): Metadata =>
  Metadata.fromRaw(fields.flatMap(([name, value]) => [name, value === "..." ? "anything" : value]));

const KEYS = ["spec", "protocol", "codec", "transport", "server", "service", "handler", "call", "only", "own"].concat([
  ...["sees", "sees-timeout", "gets", "fails", "header", "trailer"],
]);

describe.each(files)("%s", (file) => {
  const transcript = parseTranscript(readFileSync(FOLDER + file, "utf8"));
  const { notes, request, response } = transcript;
  const only = notes.get("only")?.[0];
  const own = notes.get("own")?.[0];
  // The built-in compressions that every Node has.
  const compressions = [gzip, brotli, deflate, ...(own === "compression" ? [ownCompression] : [])];
  const codecs = [protoCodec, jsonCodec, ...(own === "codec" ? [ownCodec] : [])];

  it("names the part of the specification it shows, and nothing unknown", () => {
    expect(notes.get("spec")?.[0]).toMatch(/\S/);
    expect([...notes.keys()].filter((key) => !KEYS.includes(key))).toEqual([]);
    expect([undefined, "server", "client"]).toContain(only);
    expect([undefined, "codec", "compression"]).toContain(own);
  });

  const answered = async (): Promise<void> => {
    const seen: Seen = { lines: [], timeoutMs: undefined };
    const { router, exchange, errors } = routeGreeter(
      scripted(transcript, seen),
      { compressions, codecs, ...given(transcript, "server", {}) },
      given(transcript, "service", {}),
    );
    router.add(ParametersServiceDef, ECHO, { bodies: EVERY_BODY });
    const [method = "", path = ""] = request.start.split(" ");
    const answer = await exchange({
      method,
      path,
      version: notes.get("protocol")?.[0] === "grpc" ? "2" : "1.1",
      headers: metadataOf(request.headers),
      body: streamBody(chunked([bytesOf(request.parts)])),
      signal: undefined,
    });
    const bytes = await answer.body.bytes(1_000_000);
    await expectMessage(String(answer.status), answer.headers, bytes, answer.trailers, response);
    for (const line of notes.get("sees") ?? []) expect(seen.lines).toContain(line);
    const [timeout] = notes.get("sees-timeout") ?? [];
    if (timeout !== undefined) expect(seen.timeoutMs).toBe(Number(timeout));
    const { breaks } = given<Script>(transcript, "handler", {});
    expect(errors).toEqual(breaks === undefined ? [] : [new Error(breaks)]);
  };

  const played = async (): Promise<void> => {
    freezeClock();
    const grpc = notes.get("protocol")?.[0] === "grpc";
    const { compression, ...options } = given<{ compression?: string }>(transcript, "transport", {});
    let sent: Uint8Array | undefined;
    const { client, requests } = wireClient(
      grpc ? createGrpcClient : createHttpRpcClient,
      async ({ body }) => {
        sent = await body.bytes(1_000_000);
        return {
          status: Number(response.start),
          headers: metadataOf(response.headers),
          body: streamBody(chunked([bytesOf(response.parts)])),
          trailers: metadataOf(response.trailers),
        };
      },
      {
        codec: codecs.find(({ name }) => name === (notes.get("codec")?.[0] ?? "proto")) as Codec,
        compressions,
        sendCompression: compressions.find(({ name }) => name === compression),
        compressMinBytes: 0,
        ...options,
      },
    );
    const result = await makeCall(client, notes.get("call")?.[0] ?? "");
    const [made] = requests;
    await expectMessage(
      `${made?.method} ${made?.path}`,
      made?.headers ?? new Metadata(),
      sent ?? new Uint8Array(),
      new Metadata(),
      request,
    );
    expect(result).toEqual({
      gets: (notes.get("gets") ?? []).map((line) => JSON.parse(line)),
      fails: notes.get("fails")?.[0],
      header: fieldsOf(notes.get("header")),
      trailer: fieldsOf(notes.get("trailer")),
    });
  };

  // Some behaviour exists on one side only: a peer sends it, or the client of triple-es would not.
  if (only !== "client") it("is what a server answers", answered);
  if (only !== "server") it("is what a client sends and understands", played);
});

/** Time does not advance, so that a timeout is sent unchanged. */
function freezeClock(): void {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

async function expectMessage(
  start: string,
  headers: Metadata,
  bytes: Uint8Array,
  trailers: Metadata,
  expected: Message,
): Promise<void> {
  expect(start).toBe(expected.start);
  expect(comparable(headers, expected.headers)).toEqual(comparable(expected.headers, expected.headers));
  expect(await partsOf(bytes, expected.parts)).toEqual(expected.parts);
  expect(comparable(trailers, expected.trailers)).toEqual(comparable(expected.trailers, expected.trailers));
}

interface Seen {
  lines: string[];
  timeoutMs: number | undefined;
}

/** The behaviour that a transcript adds to the handler of the greeter. */
interface Script {
  readonly header?: Readonly<Record<string, string>>;
  readonly trailer?: Readonly<Record<string, string>>;
  readonly throws?: { readonly code: string; readonly message: string };
  /** An error that it throws unintentionally. */
  readonly breaks?: string;
  /** True if it never ends. */
  readonly waits?: boolean;
}

function scripted(transcript: Transcript, seen: Seen): Partial<GreetServiceHandler> {
  const script = given<Script>(transcript, "handler", {});
  const before = (context: HandlerContext): void => {
    seen.lines = [...context.requestHeaders].map(([name, value]) => `${name}: ${value}`);
    for (const name of context.requestHeaders.raw.filter((one) => one.endsWith("-bin"))) {
      seen.lines.push(`${name} = ${Buffer.from(context.requestHeaders.getBinary(name) ?? []).toString("hex")}`);
    }
    const left = context.timeoutMs();
    seen.timeoutMs = left === undefined ? undefined : Math.ceil(left / 100) * 100;
    context.responseHeaders.appendAll(script.header ?? {});
    context.responseTrailers.appendAll(script.trailer ?? {});
    if (script.throws) throw new RpcError(parseCode(script.throws.code), script.throws.message);
  };
  return {
    async greet(message, context) {
      before(context);
      if (script.breaks !== undefined) throw new Error(script.breaks);
      if (script.waits) await new Promise(() => {});
      return greeter.greet(message, context);
    },
    async *greetEach(message, context) {
      before(context);
      yield* greeter.greetEach(message, context);
    },
    greetTogether(messages, context) {
      before(context);
      return greeter.greetTogether(messages, context);
    },
    async *greetOnArrival(messages, context) {
      before(context);
      yield* greeter.greetOnArrival(messages, context);
    },
  };
}

interface Played {
  readonly gets: unknown[];
  fails: string | undefined;
  header: string[];
  trailer: string[];
}

/** Makes the call that a transcript describes as `<method> <messages> <options>`, the last two in JSON. */
async function makeCall(client: GreetServiceClient, line: string): Promise<Played> {
  const [, method = "", json = ""] = /^(\S+) (.*)$/.exec(line) ?? [];
  const [messages, options] = JSON.parse(`[${json}]`) as [never, (CallOptions & { bytes?: Record<string, string> })?];
  const { bytes = {}, headers, ...others } = options ?? {};
  const metadata = new Metadata(headers);
  for (const [name, hex] of Object.entries(bytes)) metadata.append(name, parseHex(hex));
  const played: Played = { gets: [], fails: undefined, header: [], trailer: [] };
  const all: CallOptions = {
    ...others,
    headers: metadata,
    onHeaders: (fields) => {
      played.header = show(fields);
    },
    onTrailers: (fields) => {
      played.trailer = show(fields);
    },
  };
  const keep = ({ greeting }: { greeting: string }): void => void played.gets.push({ greeting });
  try {
    if (method === "greet") keep(await client.greet(messages, all));
    else if (method === "greetEach") for await (const one of client.greetEach(messages, all)) keep(one);
    else if (method === "greetTogether") keep(await client.greetTogether(each(messages), all));
    else for await (const one of client.greetOnArrival(each(messages), all)) keep(one);
  } catch (error) {
    expect(error).toBeInstanceOf(RpcError);
    const failure = error as RpcError;
    played.fails = showError(failure);
    if (failure.headers.size > 0) played.header = show(failure.headers);
    played.trailer = show(failure.trailers);
  }
  return played;
}

async function* each<T>(messages: readonly T[]): AsyncGenerator<T, void> {
  yield* messages;
}

it("both sub-protocols have transcripts for their rules", () => {
  expect(files.filter((file) => file.startsWith("a-")).length).toBeGreaterThanOrEqual(15);
  expect(files.filter((file) => file.startsWith("b-")).length).toBeGreaterThanOrEqual(12);
});
