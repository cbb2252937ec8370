/** Messages that are refused because of their prefix, without waiting for the rest of the body. */
import { once } from "node:events";
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { checkPrefix, PREFIX_BYTES } from "../../runtime/src/grpc/envelope.ts";
import { type Body, streamBody } from "../../runtime/src/http/body.ts";
import { Http2Connection } from "../support/connection.ts";
import {
  Flag,
  frame,
  RawConnection,
  type RawStream,
  request,
  respond,
  startRawServer,
  Type,
} from "../support/frames.ts";
import { arriving, connectGreeter, failureOf, startServer } from "../support/server.ts";

const LIMIT = 1_000;
const PREFIXES: readonly (readonly [what: string, bytes: readonly number[], code: Code])[] = [
  ["a byte more than the limit", [0, 0, 0, 3, 0xe9], Code.ResourceExhausted],
  ["4 GiB", [1, 255, 255, 255, 255], Code.ResourceExhausted],
  ["flags that do not exist", [2, 0, 0, 0, 1], Code.Internal],
];
/** The message in one frame, and in one frame for each byte. */
const CUTS = [
  ["at once", (bytes: readonly number[]) => [Uint8Array.from(bytes)]],
  ["byte by byte", (bytes: readonly number[]) => bytes.map((byte) => Uint8Array.of(byte))],
] as const;

describe.each(PREFIXES)("a prefix that announces %s", (_, bytes, code) => {
  describe.each(CUTS)("and arrives %s", (_cut, cut) => {
    it.each(["Greet", "GreetTogether"])("is refused by a server of %s before the message arrives", async (method) => {
      const { baseUrl } = await startServer({}, { maxMessageBytes: LIMIT });
      const path = `/greet.v1.GreetService/${method}`;
      const headers = { ":method": "POST", ":path": path, "content-type": "application/grpc" };
      const stream = new Http2Connection(baseUrl).session.request(headers);
      const [closed, answered] = [once(stream, "close"), once(stream, "response")];
      for (const piece of cut(bytes)) await new Promise((resolve) => stream.write(piece, resolve));
      expect((await answered)[0]["grpc-status"]).toBe(String(code));
      // The server reports that the rest of the request is not needed.
      await closed;
    });

    it("is refused by a client in every kind of call, which cancels the call", async () => {
      const announce = (stream: RawStream): void => {
        respond(stream);
        for (const piece of cut(bytes)) stream.connection.write(frame(Type.data, 0, stream.id, piece));
      };
      const server = await startRawServer(announce);
      const client = connectGreeter(server.baseUrl, { maxMessageBytes: LIMIT });
      const calls = [client.greet({}), client.greetEach({}), client.greetTogether(arriving("Ada"))];
      const failures = await Promise.all(calls.map(failureOf));
      expect(failures.map((failure) => failure.code)).toEqual(Array(3).fill(code));
      for (const { connection, id } of server.streams) await connection.frame(Type.reset, id);
    });

    it("is refused in memory before the rest of the body is read", async () => {
      let asked = 0;
      async function* pieces(): AsyncGenerator<Uint8Array, void> {
        for (const piece of cut(bytes)) yield piece;
        asked++;
        yield new Uint8Array(10);
      }
      const body: Body = streamBody(pieces());
      expect((await failureOf(body.bytes(LIMIT, PREFIX_BYTES, checkPrefix))).code).toBe(code);
      expect(asked).toBe(0);
    });
  });
});

it("a message of exactly the limit is accepted, for any division into chunks", async () => {
  const { port } = await startServer(
    { greet: ({ name }) => ({ greeting: name.slice(0, 3) }) },
    { maxMessageBytes: 100 },
  );
  const connection = await RawConnection.open(port);
  const message = Buffer.concat([Buffer.from([0, 0, 0, 0, 100, 0x0a, 98]), Buffer.alloc(98, "a")]);
  connection.write(frame(Type.headers, Flag.endHeaders, 1, request()));
  for (const byte of message) connection.write(frame(Type.data, 0, 1, Uint8Array.of(byte)));
  connection.write(frame(Type.data, Flag.endStream, 1));
  expect((await connection.frame(Type.data, 1)).payload.toString("latin1")).toBe("\0\0\0\0\x05\x0a\x03aaa");
});
