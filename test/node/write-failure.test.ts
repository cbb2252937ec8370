/** Early responses to an HTTP/1.1 client whose request could not be sent completely (RFC 9112, section 9.5). */
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import { Code } from "triple-es";
import { expect, it } from "vitest";
import { readAfterFailedWrite } from "../../runtime/src/node/client/write-failure.ts";
import { connectionError } from "../../runtime/src/node/io/error.ts";

/** A socket that cannot be written to. These chunks have arrived before, but have not been read. */
function closedByPeer(...arrived: readonly (string | null)[]): Socket {
  const socket = new Duplex({
    read() {},
    write(_chunk, _encoding, done) {
      done(Object.assign(new Error("write EPIPE"), { code: "EPIPE", syscall: "write" }));
      setImmediate(() => {
        for (const chunk of arrived) this.push(chunk === null ? null : Buffer.from(chunk));
      });
    },
  }) as Socket;
  readAfterFailedWrite(socket);
  return socket;
}

function send(socket: Socket) {
  const outgoing = request({ method: "POST", createConnection: () => socket });
  outgoing.end("x".repeat(100_000));
  return outgoing;
}

it.each([
  ["in one chunk", ["HTTP/1.1 413 Content Too Large\r\ncontent-length: 9\r\n\r\ntoo large", null]],
  ["in several chunks", ["HTTP/1.1 413 Content", " Too Large\r\ncontent-length: 9\r\n\r\n", "too", " large", null]],
  ["that is followed by no end", ["HTTP/1.1 413 Content Too Large\r\ncontent-length: 9\r\n\r\ntoo large"]],
])("a response that has arrived %s is read, although a write has failed", async (_, arrived) => {
  const socket = closedByPeer(...arrived);
  const outgoing = send(socket).on("error", () => {});
  const [response] = (await once(outgoing, "response")) as [IncomingMessage];
  expect([response.statusCode, await text(response)]).toEqual([413, "too large"]);
  await expect.poll(() => socket.destroyed).toBe(true);
});

it.each([
  ["nothing has arrived", [null]],
  ["an incomplete response has arrived", ["HTTP/1.1 413 Content", null]],
  ["the end of the connection does not arrive", []],
])("a request fails with the error of the write if %s", async (_, arrived) => {
  const [error] = (await once(send(closedByPeer(...arrived)), "error")) as [Error];
  expect(connectionError(error, "127.0.0.1:1")).toMatchObject({
    code: Code.Unavailable,
    rawMessage: "connection to 127.0.0.1:1 failed: the server closed the connection while the request was sent",
  });
});
