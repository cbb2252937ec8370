/** Headers and trailers of responses over HTTP/2, at the limit of a client and beyond it: the error names the limit. */
import { Code } from "triple-es";
import { describe, expect, it } from "vitest";
import { block, Flag, frame, type RawStream, startRawServer, Type } from "../../support/frames.ts";
import { arriving, connectGreeter, failureOf, greetings } from "../../support/server.ts";

type Fields = [name: string, value: string][];

const HEAD: Fields = [
  [":status", "200"],
  ["content-type", "application/grpc"],
];
const OK: Fields = [["grpc-status", "0"]];
const MESSAGE = Buffer.from([0, 0, 0, 0, 5, 0x0a, 3, 0x41, 0x64, 0x61]);
const FRAME_BYTES = 16_384;

const many = (count: number, bytes: number): Fields =>
  Array.from({ length: count }, (_, i): [string, string] => [`x-${i}`, "x".repeat(bytes)]);

/** Encodes a header block into the required number of frames. */
function write({ connection, id }: RawStream, fields: Fields, flags = 0): void {
  const bytes = block(...fields);
  for (let start = 0; start < bytes.byteLength; start += FRAME_BYTES) {
    const last = start + FRAME_BYTES >= bytes.byteLength ? Flag.endHeaders : 0;
    const type = start === 0 ? Type.headers : Type.continuation;
    connection.write(frame(type, last | (start === 0 ? flags : 0), id, bytes.subarray(start, start + FRAME_BYTES)));
  }
}

/** The positions in which the fields may occur. */
const PLACES: Readonly<Record<string, (stream: RawStream, fields: Fields) => void>> = {
  headers(stream, fields) {
    write(stream, [...HEAD, ...fields]);
    stream.connection.write(frame(Type.data, 0, stream.id, MESSAGE));
    write(stream, OK, Flag.endStream);
  },
  trailers(stream, fields) {
    write(stream, HEAD);
    stream.connection.write(frame(Type.data, 0, stream.id, MESSAGE));
    write(stream, [...OK, ...fields], Flag.endStream);
  },
};

describe.each(Object.entries(PLACES))("%s of a response", (place, send) => {
  it.each([
    ["of 1,000 fields", many(1_000, 20)],
    ["of 60 KiB in one field", many(1, 60 * 1024)],
  ])("%s are taken", async (_, fields) => {
    const server = await startRawServer((stream) => send(stream, fields));
    const client = connectGreeter(server.baseUrl);
    expect((await client.greet({})).greeting).toBe("Ada");
    expect(await greetings(client.greetEach({}))).toEqual(["Ada"]);
    expect((await client.greetTogether(arriving("Ada"))).greeting).toBe("Ada");
  });

  it.each([
    ["of 1,950 fields", many(1_950, 1)],
    ["of 66 KiB in two fields", many(2, 33 * 1024)],
    ["of 100 KiB in many fields", many(100, 1024)],
    ["of 2,500 empty fields", many(2_500, 0)],
  ])("%s are refused in every kind of call, by the name of the limit", async (_, fields) => {
    const server = await startRawServer((stream) => send(stream, fields));
    const client = connectGreeter(server.baseUrl);
    const calls = [client.greet({}), client.greetEach({}), client.greetTogether(arriving("Ada"))];
    for (const { code, rawMessage } of await Promise.all(calls.map(failureOf))) {
      const message = `the ${place} of the response are larger than the limit of 65536 bytes`;
      expect([code, rawMessage]).toEqual([Code.ResourceExhausted, message]);
    }
  });
});
