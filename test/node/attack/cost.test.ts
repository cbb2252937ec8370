/** Messages of few bytes that decode to many objects: servers and clients refuse them before they are decoded. */
import zlib from "node:zlib";
import { Code, type Codec, protoCodec } from "triple-es";
import { brotli } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { envelope, Http2Connection } from "../../support/connection.ts";
import { arriving, connectGreeter, failureOf, greeter, startServer } from "../../support/server.ts";

const MIB = 2 ** 20;

/** Field 15, which the messages of the greeter do not have, with an empty value. */
const UNKNOWN_FIELDS = Buffer.alloc(4 * MIB - 2, Buffer.from([0x78, 0]));
const EMPTY_OBJECTS = Buffer.from(`{"unknown":[${"{},".repeat(1_398_000)}{}]}`);

const ATTACKS: [name: string, codec: "proto" | "json", bytes: Uint8Array][] = [
  ["unknown fields in proto", "proto", UNKNOWN_FIELDS],
  ["empty objects in JSON", "json", EMPTY_OBJECTS],
];

/** A codec that writes these bytes for every message, and reads normally. */
const hostile = (name: "proto" | "json", bytes: Uint8Array): Codec => ({
  name,
  encode: () => bytes,
  decode: () => ({}),
});

const LIMIT = /at least \d+ values, more than the limit of \d+ values \(option maxMessageValues of the receiver\)/;

describe.each(["grpc", "http-rpc"] as const)("over %s", (protocol) => {
  it.each(ATTACKS)("a server refuses 4 MiB of %s, and serves others", async (_, name, bytes) => {
    const { baseUrl } = await startServer();
    const attacker = connectGreeter(baseUrl, { protocol, codec: hostile(name, bytes) });
    const neighbour = connectGreeter(baseUrl, { protocol });
    const [failures, greetings] = await Promise.all([
      Promise.all(Array.from({ length: 5 }, () => failureOf(attacker.greet({})))),
      Promise.all(Array.from({ length: 20 }, () => neighbour.greet({ name: "Ada" }))),
    ]);
    for (const { code, message } of failures) {
      expect(code).toBe(Code.ResourceExhausted);
      expect(message).toMatch(LIMIT);
    }
    expect(new Set(greetings.map(({ greeting }) => greeting))).toEqual(new Set(["Hello, Ada!"]));
  });

  it.each(ATTACKS)("a client refuses 4 MiB of %s", async (_, name, bytes) => {
    const { baseUrl } = await startServer({}, { codecs: [hostile(name, bytes)] });
    const { code, message } = await failureOf(connectGreeter(baseUrl, { protocol, codec: name }).greet({}));
    expect(code).toBe(Code.ResourceExhausted);
    expect(message).toMatch(LIMIT);
  });

  it("the limit is an option, of servers and of clients", async () => {
    const bytes = UNKNOWN_FIELDS.subarray(0, 10_000);
    const codec: Codec = { ...protoCodec, encode: () => bytes };
    const { baseUrl } = await startServer({}, { maxMessageValues: 1_000 });
    const refused = await failureOf(connectGreeter(baseUrl, { protocol, codec }).greet({}));
    expect([refused.code, refused.message]).toEqual([
      Code.ResourceExhausted,
      expect.stringContaining("limit of 1000 values"),
    ]);
    const other = await startServer({}, { codecs: [codec] });
    const failure = await failureOf(connectGreeter(other.baseUrl, { protocol, maxMessageValues: 1_000 }).greet({}));
    expect(failure.code).toBe(Code.ResourceExhausted);
    expect(await connectGreeter(other.baseUrl, { protocol }).greet({})).toMatchObject({ greeting: "" });
    for (const maxMessageValues of [0, -1, 0.5, Number.NaN]) {
      await expect(startServer({}, { maxMessageValues })).rejects.toThrow(
        "maxMessageValues must be a positive integer or Infinity",
      );
      expect(() => connectGreeter(baseUrl, { protocol, maxMessageValues })).toThrow(
        "maxMessageValues must be a positive integer or Infinity",
      );
    }
  });

  it("the limit applies to small messages, if it is low", async () => {
    const codec = hostile("proto", UNKNOWN_FIELDS.subarray(0, 10));
    const { baseUrl } = await startServer({}, { maxMessageValues: 1 });
    const { code, message } = await failureOf(connectGreeter(baseUrl, { protocol, codec }).greet({}));
    expect([code, message]).toEqual([Code.ResourceExhausted, expect.stringMatching(LIMIT)]);
  });

  it("thirty concurrent bodies of 14 bytes that inflate to the limit, with empty fields, are refused", async () => {
    const { baseUrl } = await startServer();
    const bomb = zlib.brotliCompressSync(Buffer.alloc(4 * MIB - 5));
    expect(bomb.byteLength).toBe(14);
    const compressions = [{ ...brotli, compress: () => bomb }];
    const attacker = connectGreeter(baseUrl, { protocol, compressions, compression: "br", compressMinBytes: 0 });
    const neighbour = connectGreeter(baseUrl, { protocol });
    const attacks = Array.from({ length: 30 }, () => failureOf(attacker.greet({ name: "bomb" })));
    for (let i = 0; i < 50; i++) expect((await neighbour.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    for (const { code } of await Promise.all(attacks)) expect(code).toBe(Code.ResourceExhausted);
  });
});

it("a stream refuses a message of unknown fields in either direction", async () => {
  const { baseUrl } = await startServer();
  const attacker = connectGreeter(baseUrl, { codec: hostile("proto", UNKNOWN_FIELDS) });
  expect((await failureOf(attacker.greetTogether(arriving("Ada")))).code).toBe(Code.ResourceExhausted);
  const { baseUrl: hostileUrl } = await startServer(greeter, { codecs: [hostile("proto", UNKNOWN_FIELDS)] });
  const client = connectGreeter(hostileUrl);
  expect((await failureOf(client.greetTogether(arriving("Ada")))).code).toBe(Code.ResourceExhausted);
  expect((await failureOf(client.greetOnArrival(arriving("Ada")))).message).not.toMatch(/^$/);
});

it("a stream of small compressed messages that are costly to decode lets other work run between them", async () => {
  const { baseUrl } = await startServer();
  const connection = new Http2Connection(baseUrl);
  const message = envelope(zlib.gzipSync(UNKNOWN_FIELDS.subarray(0, 16_000)), 1);
  const MESSAGES = 500;
  let turns = 0;
  let counting = setImmediate(function count() {
    turns++;
    counting = setImmediate(count);
  });
  const headers = { "content-type": "application/grpc+proto", te: "trailers", "grpc-encoding": "gzip" };
  const body = Buffer.concat(Array<Buffer>(MESSAGES).fill(message));
  const answer = await connection.post("/greet.v1.GreetService/GreetTogether", headers, body);
  clearImmediate(counting);
  expect(answer.trailers["grpc-status"]).toBe("0");
  // Each message takes about a millisecond, and nine have as many bytes as a turn takes.
  expect(turns).toBeGreaterThan(MESSAGES / 10);
});
