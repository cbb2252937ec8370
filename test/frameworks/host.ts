/** The common part of all framework servers: a greeter below a prefix, and another route. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { Code, createRouter, type Router, RpcError } from "triple-es";
import { nodeCompressions } from "triple-es/node";
import { onTestFinished } from "vitest";
import { GreetServiceDef, type GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";
import { aborted, greeter } from "../support/server.ts";

/** The largest message that the router accepts. */
export const MAX_MESSAGE_BYTES = 100_000;

/** The router below the prefix of every framework. */
export function greetRouter(handler: Partial<GreetServiceHandler> = {}): Router {
  return createRouter({ compressions: nodeCompressions, maxMessageBytes: MAX_MESSAGE_BYTES }).add(GreetServiceDef, {
    ...greeter,
    greet: ({ name }, { requestHeaders, responseHeaders, responseTrailers }) => {
      if (name === "") throw new RpcError(Code.NotFound, "no such person", { trailers: { "x-why": "no name" } });
      responseHeaders.set("x-echo", requestHeaders.get("x-echo") ?? "nothing");
      responseTrailers.set("x-bytes-bin", requestHeaders.getBinary("x-bytes-bin") ?? new Uint8Array());
      return { greeting: `Hello, ${name}!` };
    },
    ...handler,
  });
}

/** A server of `node:http` or `node:http2`, as frameworks create it. */
interface Listener {
  listen(port: number, host: string): unknown;
  address(): AddressInfo | string | null;
  close(done: () => void): unknown;
  closeAllConnections?(): void;
}

/** Listens on a free port until the end of the test. Returns the base URL. */
export async function listen(server: Listener): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server as never, "listening");
  onTestFinished(async () => {
    const closed = new Promise<void>((resolve) => server.close(resolve));
    server.closeAllConnections?.();
    await closed;
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A handler that waits for its signal, and reports when it began and why it ended. */
export function waiting(): { greet: GreetServiceHandler["greet"]; started: Promise<void>; ended: Promise<unknown> } {
  let start = (): void => {};
  let end = (_reason: unknown): void => {};
  const started = new Promise<void>((resolve) => {
    start = resolve;
  });
  const ended = new Promise<unknown>((resolve) => {
    end = resolve;
  });
  const greet: GreetServiceHandler["greet"] = async (_, { signal }) => {
    start();
    end(await aborted(signal));
    return {};
  };
  return { greet, started, ended };
}
