/** Attacks on the event loop: the process of the peer must stay responsive, whether or not the call succeeds. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { Code } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { compiled } from "../../support/compiled.ts";
import {
  block,
  Flag,
  frame,
  type RawStream,
  respond,
  settings,
  startRawServer,
  Type,
  words,
} from "../../support/frames.ts";
import { startPeer } from "../../support/server.ts";
import type { ClientOrder, ClientReport } from "./client-victim.ts";

/** Well above the delays of garbage collection and a busy machine, well below a delay that users notice. */
const MAX_BLOCK_MS = 500;

/** Lets a client make a call in a separate process. Fails if the client does not report in time. */
async function attackClient(order: ClientOrder): Promise<ClientReport> {
  const child = fork(compiled("test/node/attack/client-victim.ts"));
  onTestFinished(() => void child.kill("SIGKILL"));
  child.send(order);
  const limit = AbortSignal.timeout(order.timeoutMs + 120_000);
  const [report] = (await once(child, "message", { signal: limit })) as [ClientReport];
  return report;
}

const OK_TRAILERS = block(["grpc-status", "0"]);
const MESSAGES = 2_000_000;

function attacks(certificates?: Certificates): void {
  it("opens the window of an upload by single bytes", async () => {
    const updates = Buffer.concat(Array.from({ length: 2_000 }, () => frame(Type.windowUpdate, 0, 1, words(1))));
    let isOver = false;
    // Frames are not read, so that the attack is faster than the client.
    const port = await startPeer(
      (socket) => {
        socket.write(settings([4, 1]));
        socket.resume().once("close", () => {
          isOver = true;
        });
        socket.once("data", () => setTimeout(flood, 50));
        const flood = (): void => {
          while (!isOver && socket.write(updates)) isOver ||= socket.destroyed;
          socket.once("drain", flood);
        };
      },
      certificates && { ...certificates.server, ALPNProtocols: ["h2"] },
    );
    const report = await attackClient({
      baseUrl: `${certificates === undefined ? "http" : "https"}://127.0.0.1:${port}`,
      ca: certificates?.ca,
      call: "upload",
      bytes: 4 * 1024 * 1024,
      timeoutMs: 5_000,
    });
    expect(report.uncaught).toEqual([]);
    expect(report.outcome).not.toBe("ok");
    expect(report.longestBlockMs).toBeLessThan(MAX_BLOCK_MS);
  });

  it.each([
    ["in large frames", 3_000],
    ["in frames of their own", 1],
  ])("sends two million messages without bytes, %s", async (_, perFrame) => {
    const sendAll = async (stream: RawStream): Promise<void> => {
      const { connection, id } = stream;
      respond(stream);
      const one = frame(Type.data, 0, id, Buffer.alloc(5 * perFrame));
      const chunk = Buffer.concat(Array.from({ length: Math.ceil(3_000 / perFrame) }, () => one));
      const updates = connection.received.filter(({ type, stream }) => type === Type.windowUpdate && stream === 0);
      let window = updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 65_535);
      let streamWindow = 256 * 1024;
      let wake = (): void => {};
      connection.onFrame(({ type, stream: of, payload }) => {
        if (type !== Type.windowUpdate) return;
        if (of === 0) window += payload.readUInt32BE(0);
        else streamWindow += payload.readUInt32BE(0);
        wake();
      });
      for (let sent = 0; sent < MESSAGES && !connection.closed; sent += 3_000) {
        while (Math.min(window, streamWindow) < 15_000 && !connection.closed) {
          await new Promise<void>((resolve) => {
            wake = resolve;
            setTimeout(resolve, 1_000);
          });
        }
        window -= 15_000;
        streamWindow -= 15_000;
        await connection.flood(1, () => chunk);
      }
      connection.write(frame(Type.headers, Flag.endHeaders | Flag.endStream, id, OK_TRAILERS));
    };
    const server = await startRawServer((stream) => void sendAll(stream), settings(), certificates?.server);
    const report = await attackClient({
      baseUrl: server.baseUrl,
      ca: certificates?.ca,
      call: "download",
      bytes: 0,
      timeoutMs: 8_000,
    });
    expect(report.uncaught).toEqual([]);
    if (report.outcome === "ok") expect(report.messages).toBeGreaterThanOrEqual(MESSAGES);
    else
      expect([Code.DeadlineExceeded, Code.ResourceExhausted, Code.Unavailable].map(String)).toContain(report.outcome);
    expect(report.longestBlockMs).toBeLessThan(MAX_BLOCK_MS);
  });
}

describe("a client keeps running when a server", () => attacks());

describe.skipIf(!hasOpenssl)("over TLS (needs openssl), too, when a server", () => {
  if (hasOpenssl) attacks(sharedCertificates());
});
