/** Connections that a server keeps open: idle ones after a call, and ones with streams whose handlers wait for a message. */
import { connect } from "node:net";
import { ack, endHeaders, endStream, field, frame, frameType, preface } from "../contests/load/http2-frames.ts";
import { headersOf } from "../contests/load/http2-scripts.ts";
import { echoEnvelope, echoPath, talkPath } from "../messages/echo.ts";

export interface Client {
  close(): void;
}

/** Connections at the same time while they are opened. */
const BATCH = 50;

/** Opens connections that make one call each. */
export function openIdle(port: number, count: number): Promise<Client[]> {
  return openAll(port, count, 1, echoPath, endStream);
}

/** Opens connections with so many open streams each. The server has answered one message on each stream. */
export function openStreams(port: number, count: number, streams: number): Promise<Client[]> {
  return openAll(port, count, streams, talkPath, 0);
}

async function openAll(port: number, count: number, streams: number, path: string, flags: number): Promise<Client[]> {
  const clients: Client[] = [];
  while (clients.length < count) {
    const batch = Math.min(BATCH, count - clients.length);
    clients.push(...(await Promise.all(Array.from({ length: batch }, () => open(port, streams, path, flags)))));
  }
  return clients;
}

async function open(port: number, streams: number, path: string, flags: number): Promise<Client> {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const headers = Buffer.concat([headersOf(path, "application/grpc+proto"), field("te", "trailers")]);
  const calls = Array.from({ length: streams }, (_, i) => [
    frame(frameType.headers, endHeaders, 2 * i + 1, headers),
    frame(frameType.data, flags, 2 * i + 1, echoEnvelope),
  ]);
  socket.write(Buffer.concat([preface(2 ** 16), ...calls.flat()]));
  let rest = Buffer.alloc(0);
  let missing = streams * echoEnvelope.length;
  await new Promise<void>((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed the connection")));
    socket.on("data", (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
        const length = rest.readUIntBE(0, 3);
        const [type, isAck] = [rest[3], ((rest[4] as number) & ack) !== 0];
        if (type === frameType.data) missing -= length;
        if (type === frameType.settings && !isAck) socket.write(frame(frameType.settings, ack, 0, Buffer.alloc(0)));
        rest = rest.subarray(9 + length);
      }
      if (missing === 0) resolve();
    });
  });
  socket.removeAllListeners("close");
  return { close: () => socket.destroy() };
}
