/**
 * The process that attacks: it sends the same request over and over, several at a time.
 */
import http from "node:http";
import http2 from "node:http2";
import { answerParent } from "../child.ts";
import { ATTACKS, type Attack } from "./bodies.ts";

const SIZE = 4 * 2 ** 20;

export interface Orders {
  readonly port: number;
  readonly attack: number;
  /** Requests in flight. */
  readonly concurrency: number;
}

let stopped = true;
let sent = 0;
let running: Promise<unknown> = Promise.resolve();

function start({ port, attack: index, concurrency }: Orders): void {
  const attack = ATTACKS[index] as Attack;
  const body = attack.body(SIZE);
  const send = attack.headers["te"] === undefined ? overHttp1(port, attack, body) : overHttp2(port, attack, body);
  stopped = false;
  sent = 0;
  const repeat = async (): Promise<void> => {
    while (!stopped) {
      await send();
      sent += 1;
    }
  };
  running = Promise.allSettled(Array.from({ length: concurrency }, repeat));
}

async function stop(): Promise<number> {
  stopped = true;
  await running;
  return sent;
}

function overHttp1(port: number, { path, headers }: Attack, body: Uint8Array): () => Promise<void> {
  const agent = new http.Agent({ keepAlive: true });
  return () =>
    new Promise((resolve) => {
      const request = http.request({ agent, port, host: "127.0.0.1", method: "POST", path, headers });
      request.on("response", (response) => response.resume().on("close", resolve));
      request.on("error", () => resolve());
      request.end(body);
    });
}

function overHttp2(port: number, { path, headers }: Attack, body: Uint8Array): () => Promise<void> {
  const session = http2.connect(`http://127.0.0.1:${port}`);
  session.on("error", () => {});
  return () =>
    new Promise((resolve) => {
      const stream = session.request({ ":method": "POST", ":path": path, ...headers });
      stream.on("error", () => {});
      stream.on("close", resolve);
      stream.resume().end(body);
    });
}

answerParent({ start, stop });
