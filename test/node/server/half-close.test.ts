/** Clients of HTTP/1.1 that half-close the connection after their requests, as `nc -N` does. */
import { createConnection } from "node:net";
import type { Duplex } from "node:stream";
import { connect as connectTls } from "node:tls";
import { Code, type RpcError } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import type { GreetServiceHandler } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { pause } from "../../support/pause.ts";
import { aborted, signalled, startServer } from "../../support/server.ts";

const request = (name: string): string => {
  const body = JSON.stringify([{ name }]);
  const head = "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
  return `${head}content-length: ${body.length}\r\n\r\n${body}`;
};

/** Sends all bytes and half-closes. Settles with the data received until the server ends. */
async function converse(socket: Duplex, bytes: string): Promise<string> {
  onTestFinished(() => void socket.destroy());
  socket.end(bytes);
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const open = (port: number): Duplex => createConnection({ port, host: "127.0.0.1", allowHalfOpen: true });

/** Responds after the server has noticed the half-close. */
function slow(): { greet: GreetServiceHandler["greet"]; reasons: unknown[] } {
  const reasons: unknown[] = [];
  const greet: GreetServiceHandler["greet"] = async ({ name }, { signal }) => {
    reasons.push(await aborted(signal));
    return { greeting: `Hello, ${name}!` };
  };
  return { greet, reasons };
}

describe("a client that has ended its side", () => {
  it("receives the responses of slow handlers, whose signals fire because the client may have disconnected", async () => {
    const { greet, reasons } = slow();
    const { port } = await startServer({ greet });
    // More than the number of listeners that Node allows without a warning.
    const names = Array.from({ length: 15 }, (_, i) => `Ada ${i}`);
    const answers = await converse(open(port), names.map(request).join(""));
    expect(answers.match(/\{"greeting.*?\}/g)).toEqual(
      names.map((name) => JSON.stringify({ greeting: `Hello, ${name}!` })),
    );
    expect(reasons).toHaveLength(names.length);
    expect(reasons.every((reason) => (reason as RpcError).code === Code.Canceled)).toBe(true);
  });

  it.skipIf(!hasOpenssl)("receives its response over TLS", async () => {
    const { server, ca } = sharedCertificates();
    const { greet } = slow();
    const { port } = await startServer({ greet }, { tls: server });
    const socket = connectTls({ port, host: "127.0.0.1", ca, allowHalfOpen: true } as object);
    expect(await converse(socket, request("Ada"))).toContain('{"greeting":"Hello, Ada!"}');
  });

  it("receives the error of a handler that stops with its signal", async () => {
    const { port } = await startServer({
      greet: async (_, { signal }) => {
        throw await aborted(signal);
      },
    });
    expect(await converse(open(port), request("Ada"))).toMatch(/^HTTP\/1\.1 499 /);
  });

  it("receives an error or nothing for half a request, and no handler runs", async () => {
    let calls = 0;
    const { port } = await startServer({
      greet: () => {
        calls += 1;
        return {};
      },
    });
    expect(await converse(open(port), request("Ada").slice(0, -3))).toMatch(/^HTTP\/1\.1 400 /);
    expect(await converse(open(port), request("Ada").slice(0, 20))).toMatch(/^(?:HTTP\/1\.1 400 |$)/);
    expect(await converse(open(port), "")).toBe("");
    expect(calls).toBe(0);
  });

  it("is disconnected if nothing is sent for stallTimeoutMs, because it may be gone and its handler ignores that", async () => {
    const { port } = await startServer({ greet: () => new Promise(() => {}) }, { limits: { stallTimeoutMs: 100 } });
    expect(await converse(open(port), request("Ada"))).toBe("");
    const closing = request("Ada").replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
    expect(await converse(open(port), closing)).toBe("");
  });

  it("receives a stream that takes longer than that", async () => {
    async function* greetEach() {
      for (let i = 0; i < 30; i++) {
        await pause(20);
        yield { greeting: `${i}` };
      }
    }
    const { port } = await startServer({ greetEach }, { limits: { stallTimeoutMs: 300 } });
    expect(await converse(open(port), request("Ada").replace("Greet HTTP", "GreetEach HTTP"))).toContain(
      '{"greeting":"29"}',
    );
  });

  it("does not keep a server from closing", async () => {
    const begun = signalled();
    const { server, port } = await startServer({
      async greet({ name }, { signal }) {
        begun.resolve();
        await aborted(signal);
        return { greeting: name };
      },
    });
    const answer = converse(open(port), request("Ada"));
    await begun.promise;
    await server.close();
    expect(await answer).toContain('{"greeting":"Ada"}');
  });
});
