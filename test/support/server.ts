/**
 * Servers and clients for tests. Servers listen on a free port of the loopback address; everything is closed at the end of
 * the test.
 */
import { connect as connectNet, createServer as createNetServer, type Socket } from "node:net";
import {
  type ConnectionOptions,
  connect as connectTls,
  createServer as createTlsServer,
  type TLSSocket,
  type TlsOptions,
} from "node:tls";
import { type CallDefaults, type ClosableTransport, Code, type ErrorHook, RpcError } from "triple-es";
import {
  createServer,
  createTransport,
  type NodeTransportOptions,
  type Server,
  type ServerOptions,
} from "triple-es/node";
import { expect, onTestFinished } from "vitest";
import {
  createGreetServiceClient,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import "./windows.ts";

/** Implements all four kinds of call as described in the comments of the proto file. */
export const greeter: GreetServiceHandler = {
  greet: ({ name }) => ({ greeting: `Hello, ${name}!` }),
  async *greetEach({ names }) {
    for (const name of names) yield { greeting: `Hello, ${name}!` };
  },
  async greetTogether(requests) {
    const names: string[] = [];
    for await (const { name } of requests) names.push(name);
    return { greeting: `Hello, ${names.join(" and ")}!` };
  },
  async *greetOnArrival(requests) {
    for await (const { name } of requests) yield { greeting: `Hello, ${name}!` };
  },
};

export interface RunningServer {
  readonly server: Server;
  readonly port: number;
  readonly baseUrl: string;
}

/** Starts a greeter on a free port, with some of its methods replaced. Unexpected errors fail the test. */
export async function startServer(
  handler: Partial<GreetServiceHandler> = {},
  options: ServerOptions = {},
  port = 0,
): Promise<RunningServer> {
  const server = createServer({ onError: failOnError, ...options }).add(GreetServiceDef, { ...greeter, ...handler });
  await server.listen({ port, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const { port: bound } = server.address;
  const scheme = options.tls === undefined ? "http" : "https";
  return { server, port: bound, baseUrl: `${scheme}://127.0.0.1:${bound}` };
}

const failOnError: ErrorHook = (error, path) => {
  queueMicrotask(() => {
    throw new Error(`unexpected failure in ${path}`, { cause: error });
  });
};

/** A transport that is closed at the end of the test. */
export function openTransport(baseUrl: string, options: Omit<NodeTransportOptions, "baseUrl"> = {}): ClosableTransport {
  const transport = createTransport({ baseUrl, ...options });
  onTestFinished(() => transport.close());
  return transport;
}

/** A client of the greeter on a separate transport. */
export function connectGreeter(
  baseUrl: string,
  options: Omit<NodeTransportOptions, "baseUrl"> = {},
  defaults: CallDefaults = {},
): GreetServiceClient {
  return createGreetServiceClient(openTransport(baseUrl, options), defaults);
}

/** Yields requests one after the other. */
export async function* arriving(...names: string[]): AsyncGenerator<{ name: string }, void> {
  for (const name of names) yield { name };
}

/** Returns the greetings of a stream of responses. */
export async function greetings(responses: AsyncIterable<{ greeting: string }>): Promise<string[]> {
  const all: string[] = [];
  for await (const { greeting } of responses) all.push(greeting);
  return all;
}

/** Returns the error of a call. */
export async function failureOf(call: Promise<unknown> | AsyncIterable<unknown>): Promise<RpcError> {
  try {
    if (Symbol.asyncIterator in call) for await (const _ of call);
    else await call;
  } catch (error) {
    expect(error).toBeInstanceOf(RpcError);
    return error as RpcError;
  }
  throw new Error("the call was expected to fail");
}

/** Reads a stream until it fails. `begun` settles with the first message, or with the failure if there is none. */
export function readUntilFailure(stream: AsyncIterable<unknown>): {
  readonly begun: Promise<void>;
  readonly failed: Promise<RpcError>;
} {
  const first = signalled();
  const failed = failureOf(
    (async function* () {
      for await (const message of stream) {
        first.resolve();
        yield message;
      }
    })(),
  );
  return { begun: Promise.race([first.promise, failed.then((error) => Promise.reject(error))]), failed };
}

/**
 * Makes a call whose deadline passes after the given event, such as the start of its handler. If a busy machine is too slow
 * for that, the call is made again with twice the time. Returns its error.
 */
export async function missDeadline(
  event: Promise<unknown>,
  call: (options: { timeoutMs: number }) => Promise<RpcError>,
): Promise<RpcError> {
  let hasHappened = false;
  void event.then(() => {
    hasHappened = true;
  });
  for (let timeoutMs = 50; ; timeoutMs *= 2) {
    const failure = await call({ timeoutMs });
    expect(failure.code).toBe(Code.DeadlineExceeded);
    if (hasHappened) return failure;
  }
}

/** A promise with its resolve function, for tests that wait for an event on the other side. */
export function signalled<T = void>(): { readonly promise: Promise<T>; readonly resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}

/** Waits until the signal fires, and returns its reason. */
export function aborted(signal: AbortSignal): Promise<unknown> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(signal.reason);
    else signal.addEventListener("abort", () => resolve(signal.reason), { once: true });
  });
}

/** A peer whose handling of connections the test defines; over TLS if options are given. Returns its port. */
export async function startPeer(onSocket: (socket: Socket) => void, tls?: TlsOptions, onPort = 0): Promise<number> {
  const accept = (socket: Socket): void => {
    socket.on("error", () => {});
    onSocket(socket);
  };
  const server = tls === undefined ? createNetServer(accept) : createTlsServer(tls, accept);
  const sockets = new Set<Socket>();
  // With TLS too, where a handshake may take longer than the test.
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(onPort, "127.0.0.1", resolve));
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve));
    for (const socket of sockets) socket.destroy();
    await closed;
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the peer does not listen");
  return address.port;
}

/** A TCP connection to a server, which is destroyed at the end of the test. */
export async function openSocket(port: number): Promise<Socket> {
  const socket = connectNet({ port, host: "127.0.0.1" });
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  await new Promise((resolve) => socket.once("connect", resolve));
  return socket;
}

/** Starts TLS on a TCP connection. Rejects if the handshake fails. */
export async function secure(socket: Socket, options: ConnectionOptions): Promise<TLSSocket> {
  const secured = connectTls({ host: "127.0.0.1", ...options, socket });
  await new Promise((resolve, reject) => {
    secured.once("secureConnect", resolve);
    secured.on("error", reject);
  });
  return secured;
}
