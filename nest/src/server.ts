/** The transport strategy of Nest: serves `@GrpcMethod`, `@GrpcStreamMethod` and `@GrpcStreamCall` with a server of `triple-es`. */
import { type GrpcOptions, ServerGrpc } from "@nestjs/microservices";
import { defer, type Observable } from "rxjs";
import type { ErrorHook, ServiceDef } from "triple-es";
import { assertMembers } from "triple-es/internal";
import { createServer, type ListenOptions, type Server, type ServerOptions } from "triple-es/node";
import { createHandler, type GrpcCall, type GrpcMethod, type Handler, type MessageShape } from "./call.ts";
import { type Definition, defineService, type LoadedService, type ShapeOf } from "./loaded-service.ts";

type Requests = Observable<unknown> & { drainBuffer?(): void };
type Implementation = Readonly<Record<string, GrpcMethod>>;

/** The names of options: false for those of `@grpc/grpc-js`, in whose place the server has its own. */
const OPTIONS: Readonly<Record<keyof TripleServerOptions, boolean>> = {
  url: true,
  package: true,
  protoPath: true,
  protoLoader: true,
  packageDefinition: true,
  loader: true,
  onLoadPackageDefinition: true,
  gracefulShutdown: true,
  maxReceiveMessageLength: true,
  maxMetadataSize: true,
  services: true,
  server: true,
  channelOptions: false,
  credentials: false,
  keepalive: false,
  maxSendMessageLength: false,
};
/** The limit in place of none. */
const MAX_MESSAGE_BYTES = 2 ** 31 - 1;

/** Options of {@link TripleServer}: those of Nest's gRPC transport, but for the four of `@grpc/grpc-js`, and two more. */
export interface TripleServerOptions extends Partial<GrpcOptions["options"]> {
  /**
   * Definitions of generated code, such as `GreetServiceDef`, which need no proto files. Handlers then get messages of protobuf-es,
   * and return them or init objects. Default: none.
   */
  readonly services?: readonly ServiceDef<object, object>[] | undefined;
  /** Options of the server, such as `tls`, `cors` and `limits`. Default: none. */
  readonly server?: ServerOptions | undefined;
}

/** Messages of protobuf-es stay as they are. */
const SAME_SHAPE: MessageShape = { request: (message) => message, response: (value) => value as object };

/**
 * A strategy that takes the place of `Transport.GRPC`: `{ strategy: new TripleServer(options) }` serves the same handlers over
 * gRPC, HTTP RPC and gRPC-Web. `unwrap` returns the server of `triple-es`, to which other services can be added.
 *
 * It is a subclass of Nest's strategy, because Nest passes metadata and calls to handlers of that class only.
 */
export class TripleServer extends ServerGrpc {
  readonly #options: TripleServerOptions;
  readonly #server: Server;
  readonly #onError: ErrorHook;

  /** Creates the strategy. Throws a `TypeError` or `RangeError` for an invalid option. */
  constructor(options: TripleServerOptions) {
    super(options as GrpcOptions["options"]);
    assertMembers("TripleServer", options, Object.keys(OPTIONS));
    const { package: packages, services, maxReceiveMessageLength: maxMessageBytes } = options;
    const names = Object.keys(options) as (keyof TripleServerOptions)[];
    const other = names.find((name) => !OPTIONS[name] && options[name] !== undefined);
    if (other)
      throw new TypeError(`${other} is an option of @grpc/grpc-js: set those of triple-es in the option server`);
    if (!(services ?? packages)) throw new TypeError("TripleServer needs package or services");
    this.#options = options;
    this.#onError = options.server?.onError ?? ((error, path) => this.logger.error(path, error));
    this.#server = createServer({
      maxMessageBytes: maxMessageBytes === -1 ? MAX_MESSAGE_BYTES : maxMessageBytes || undefined,
      headerLimits: { request: { bytes: options.maxMetadataSize } },
      ...options.server,
      onError: this.#onError,
    });
  }

  /** Returns the server of `triple-es`. */
  override unwrap<T = Server>(): T {
    return this.#server as T;
  }

  /** Creates the server to which Nest adds the services of `package`: the part of a server of `@grpc/grpc-js` that it calls. */
  override async createClient(): Promise<object> {
    const addService = (service: LoadedService, implementation: Implementation): void =>
      this.#add(...defineService(service, this.#onError), implementation);
    return { addService };
  }

  /** Reads requests when the handler subscribes. Nest loses, or passes on late, what arrives while the handler is called. */
  override createRequestStreamMethod(
    ...[handler, isStream]: Parameters<ServerGrpc["createRequestStreamMethod"]>
  ): ReturnType<ServerGrpc["createRequestStreamMethod"]> {
    const run = (requests: Requests, metadata: unknown, call: GrpcCall): unknown => {
      call.pause();
      requests.drainBuffer?.();
      return handler(
        defer(() => call.resume() && requests),
        metadata,
        call,
      );
    };
    return super.createRequestStreamMethod(run, isStream);
  }

  /** Adds the handlers of the application, and listens. */
  override async bindEvents(): Promise<void> {
    const { package: packages, services = [] } = this.#options;
    if (packages !== undefined) await super.bindEvents();
    for (const def of services) {
      const methods = Object.entries(def.methods).flatMap(([name, { kind, path, name: declared }]) => {
        const requestStream = kind === "client_streaming" || kind === "bidi_streaming";
        const responseStream = kind === "server_streaming" || kind === "bidi_streaming";
        return [name, declared].map((one) => [one, { path, requestStream, responseStream }]);
      });
      const name = def.typeName.slice(def.typeName.lastIndexOf(".") + 1);
      const implementation = await this.createService({ prototype: Object.fromEntries(methods) }, name);
      this.#add(def, () => SAME_SHAPE, implementation);
    }
    await this.#server.listen(addressOf(this.url));
  }

  /** Closes the server. With `gracefulShutdown`, running calls have the server's grace period to end. */
  override async close(): Promise<void> {
    await this.#server.close(this.#options.gracefulShutdown ? {} : { graceMs: 0 });
  }

  #add(def: Definition, shapeOf: ShapeOf, implementation: Implementation): void {
    const handlers: Record<string, Handler> = {};
    for (const [name, method] of Object.entries(def.methods)) {
      const run = implementation[method.name] ?? implementation[name];
      if (run !== undefined) handlers[name] = createHandler(method, run, shapeOf(method));
    }
    // The server refuses a service without handlers, which is one that the application does not serve.
    if (Object.keys(handlers).length > 0) this.#server.add(def, handlers);
  }
}

/** Parses an address of Nest. Throws a `TypeError` for another one. */
function addressOf(url: string): ListenOptions {
  const [, path, v6, host, port] = /^(?:unix:(.+)|(?:\[([^\]]+)\]|([^:]+)):(\d+))$/.exec(url) ?? [];
  if (path !== undefined) return { path };
  if (port === undefined) throw new TypeError(`url must be a host and a port, such as localhost:5000, not ${url}`);
  return { host: (v6 ?? host) as string, port: Number(port) };
}
