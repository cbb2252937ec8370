/** Responses over HTTP/2 that are sent before the end of their requests (RFC 9113, section 8.1), frame by frame. */
import { describe, expect, it } from "vitest";
import { block, Flag, frame, RawConnection, Type } from "../../support/frames.ts";
import { startServer } from "../../support/server.ts";

const FIELDS: [name: string, value: string][] = [
  [":method", "POST"],
  [":scheme", "http"],
  [":path", "/greet.v1.GreetService/None"],
  [":authority", "127.0.0.1"],
  ["content-type", "application/json"],
];
const UNKNOWN_METHOD = block(...FIELDS);

/** Opens a connection that does not acknowledge PINGs, and sends requests without their ends on these streams. */
async function openUploads(...streams: number[]): Promise<RawConnection> {
  return openRequest(UNKNOWN_METHOD, ...streams);
}

async function openRequest(head: Uint8Array, ...streams: number[]): Promise<RawConnection> {
  const connection = await RawConnection.open((await startServer()).port);
  connection.polite = false;
  connection.write(frame(Type.settings, Flag.ack, 0));
  connection.write(...streams.map((stream) => frame(Type.headers, Flag.endHeaders, stream, head)));
  return connection;
}

/** Types of the frames that have been received on a stream. The end of the response is an empty frame of DATA. */
function framesOf(connection: RawConnection, stream: number): string[] {
  return connection.received
    .filter((one) => one.stream === stream)
    .map(({ type, flags }) => (type === Type.reset ? "reset" : (flags & Flag.endStream) === 0 ? "part" : "end"));
}

/** Waits until the server has answered a PING, and so has handled everything before it. */
async function roundTrip(connection: RawConnection): Promise<void> {
  connection.write(frame(Type.ping, 0, 0, Buffer.from("sent now")));
  await expect
    .poll(() => connection.received.some(({ flags, payload }) => flags === Flag.ack && payload.includes("sent now")))
    .toBe(true);
}

describe("a response to a request that has not ended", () => {
  it("has no end until the client has acknowledged a PING that was sent after it", async () => {
    const connection = await openUploads(1);
    const ping = await connection.frame(Type.ping);
    await roundTrip(connection);
    expect(framesOf(connection, 1)).toEqual(["part", "part"]);
    connection.write(frame(Type.ping, Flag.ack, 0, ping.payload));
    await connection.frame(Type.reset, 1);
    expect(framesOf(connection, 1)).toEqual(["part", "part", "end", "reset"]);
  });

  it("ends at once when the request ends, and is not reset", async () => {
    const connection = await openUploads(1);
    await connection.frame(Type.ping);
    connection.write(frame(Type.data, Flag.endStream, 1));
    await expect.poll(() => framesOf(connection, 1)).toEqual(["part", "part", "end"]);
    connection.write(frame(Type.ping, 0, 0, Buffer.alloc(8)));
    await expect.poll(() => connection.received.filter(({ type }) => type === Type.ping).length).toBe(2);
    expect(framesOf(connection, 1)).toEqual(["part", "part", "end"]);
  });

  it("ends before its request is refused, if that ends before its content-length", async () => {
    const connection = await openRequest(block(...FIELDS, ["content-length", "100"]), 1);
    await connection.frame(Type.ping);
    connection.write(frame(Type.data, Flag.endStream, 1, Buffer.alloc(10)));
    const { payload } = await connection.frame(Type.reset, 1);
    expect(payload.readUInt32BE()).toBe(1);
    expect(framesOf(connection, 1)).toEqual(["part", "part", "end", "reset"]);
  });

  it("ends after a time limit if the client acknowledges nothing", async () => {
    const connection = await openUploads(1);
    await connection.frame(Type.reset, 1);
    expect(framesOf(connection, 1)).toEqual(["part", "part", "end", "reset"]);
  });

  it("is not ended by the acknowledgement of a PING that was sent before it", async () => {
    const connection = await openUploads(1);
    const ping = await connection.frame(Type.ping);
    connection.write(frame(Type.headers, Flag.endHeaders, 3, UNKNOWN_METHOD));
    await connection.frame(Type.data, 3);
    // By now the second response waits for a PING of its own.
    await roundTrip(connection);
    connection.write(frame(Type.ping, Flag.ack, 0, ping.payload));
    await connection.frame(Type.reset, 1);
    const pings = () => connection.received.filter(({ type, flags }) => type === Type.ping && flags === 0);
    await expect.poll(() => pings().length).toBe(2);
    expect(framesOf(connection, 3)).toEqual(["part", "part"]);
    const second = pings()[1];
    connection.write(frame(Type.ping, Flag.ack, 0, second?.payload));
    await connection.frame(Type.reset, 3);
    expect(framesOf(connection, 3)).toEqual(["part", "part", "end", "reset"]);
  });
});
