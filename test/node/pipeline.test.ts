/** Pipelines of HTTP/1.1 (RFC 9112, section 9.3.2), in cleartext and over TLS. */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { createCertificates, hasOpenssl } from "../support/certificate.ts";
import { openSocket, secure, startServer } from "../support/server.ts";

const COUNT = 200;

function post(name: string): string {
  const body = JSON.stringify({ name });
  const head = "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
  return `${head}content-length: ${body.length}\r\n\r\n${body}`;
}

describe.each([
  ["cleartext", false],
  ["TLS", true],
])("over %s", (_, overTls) => {
  const names = Array.from({ length: COUNT }, (_, index) => `name ${index}`);

  it.skipIf(overTls && !hasOpenssl).each<[how: string, send: (socket: Socket, requests: string[]) => unknown]>([
    ["in one write", (socket, requests) => socket.write(requests.join(""))],
    ["in a write each", (socket, requests) => requests.map((one) => socket.write(one))],
    ["that ends its side afterwards", (socket, requests) => socket.end(requests.join(""))],
  ])("200 requests %s are answered in order, one handler after the other", async (_, send) => {
    let running = 0;
    let most = 0;
    const greet = async ({ name = "" }): Promise<{ greeting: string }> => {
      most = Math.max(most, ++running);
      await undefined;
      running--;
      // Long enough for Node to pause the parser.
      return { greeting: name.padEnd(500) };
    };
    const { port } = await startServer({ greet }, { tls: overTls ? createCertificates().server : undefined });
    const tcp = await openSocket(port);
    const socket = overTls ? await secure(tcp, { ALPNProtocols: ["http/1.1"], rejectUnauthorized: false }) : tcp;
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    send(socket, names.map(post));
    await expect.poll(() => text.match(/"greeting"/g)?.length, { timeout: 10_000 }).toBe(COUNT);
    expect(Array.from(text.matchAll(/"greeting":"(.*?) *"/g), ([, name]) => name)).toEqual(names);
    expect(most).toBe(1);
  });
});
