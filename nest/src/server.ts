/** The transport strategy of Nest: serves `@GrpcMethod`, `@GrpcStreamMethod` and `@GrpcStreamCall` with a server of `triple-es`. */
import { type MessageHandler, Server, Transport } from "@nestjs/microservices";
import { Observable } from "rxjs";
import type { Method, ServiceDef } from "triple-es";
import { createServer, type ListenOptions, type Server as RpcServer, type ServerOptions } from "triple-es/node";
import { createHandler, type Handler, type Run } from "./handlers.ts";
import { loadServices, type MessageShape, type ProtoOptions, type ServedService } from "./loaded-services.ts";

/** Options of {@link TripleServer}: those of Nest's gRPC transport. */
export interface TripleServerOptions extends Partial<ProtoOptions> {
  /**
   * Definitions of generated code, such as `GreetServiceDef`, instead of proto files. Handlers then get messages of protobuf-es, and
   * return them or init objects. Default: the services of `package`.
   */
  readonly services?: readonly ServiceDef<never, never>[] | undefined;
  /** The address to listen on: a host and a port, or `unix:` and a path. Default: `localhost:5000`. */
  readonly url?: string | undefined;
  /** Maximum size of a received message, in bytes. Default: 4 MiB. */
  readonly maxReceiveMessageLength?: number | undefined;
  /** Maximum size of the metadata of a request, in bytes. Default: 16,384. */
  readonly maxMetadataSize?: number | undefined;
  /** True if calls have 30 s to end when the application closes. Default: false, they fail. */
  readonly gracefulShutdown?: boolean | undefined;
  /** Further options of the server, such as `tls`, `cors` and `limits`. Default: none. */
  readonly server?: ServerOptions | undefined;
}

const OPTIONS: Readonly<Record<keyof TripleServerOptions, true>> = {
  package: true,
  protoPath: true,
  packageDefinition: true,
  protoLoader: true,
  loader: true,
  services: true,
  url: true,
  maxReceiveMessageLength: true,
  maxMetadataSize: true,
  gracefulShutdown: true,
  server: true,
};

/** Messages of protobuf-es stay as they are. */
const SAME_SHAPE: MessageShape = { request: (message) => message, response: (value) => value as object };

/**
 * A strategy that takes the place of `Transport.GRPC`: `{ strategy: new TripleServer(options) }` serves the same handlers over
 * gRPC, HTTP RPC and gRPC-Web. `unwrap` returns the server of `triple-es`, to which other services can be added.
 */
export class TripleServer extends Server {
  override readonly transportId: Transport = Transport.GRPC;
  readonly #options: TripleServerOptions;
  readonly #server: RpcServer;

  /** Creates the strategy. Throws a `TypeError` or `RangeError` for an invalid option. */
  constructor(options: TripleServerOptions) {
    super();
    for (const [name, value] of Object.entries(options)) {
      if (value === undefined || name in OPTIONS) continue;
      throw new TypeError(`TripleServer has no option ${name}: the options of triple-es are set in the option server`);
    }
    if (options.services === undefined && (options.package === undefined || !(options.protoPath ?? options.packageDefinition))) {
      throw new TypeError("TripleServer needs services, or package with protoPath or packageDefinition");
    }
    const { maxReceiveMessageLength: maxMessageBytes, maxMetadataSize: bytes } = options;
    this.#options = options;
    this.#server = createServer({
      onError: (error, path) => this.logger.error(path, error),
      ...(maxMessageBytes === undefined ? {} : { maxMessageBytes }),
      ...(bytes === undefined ? {} : { headerLimits: { request: { bytes } } }),
      ...options.server,
    });
  }

  /** Adds the handlers of the application, and listens. Errors are passed to the callback. */
  async listen(callback: (error?: unknown) => void): Promise<void> {
    try {
      for (const service of await this.#services()) this.#add(service);
      await this.#server.listen(addressOf(this.#options.url ?? "localhost:5000"));
      callback();
    } catch (error) {
      callback(error);
    }
  }

  /** Closes the server. */
  async close(): Promise<void> {
    await this.#server.close(this.#options.gracefulShutdown ? {} : { graceMs: 0 });
  }

  /** Returns the server of `triple-es`. */
  unwrap<T = RpcServer>(): T {
    return this.#server as T;
  }

  /** Throws an `Error`: the server has no events. */
  on(): never {
    throw new Error("TripleServer has no events");
  }

  async #services(): Promise<ServedService[]> {
    const { services } = this.#options;
    if (services === undefined) return loadServices(this.#options as ProtoOptions);
    return services.map((def) => ({ def, names: [def.typeName.replace(/^.*\./, ""), def.typeName] }));
  }

  /** Adds the methods of a service that have handlers. Throws an `Error` for a handler that fits no method. */
  #add({ def, names, shapeOf }: ServedService): void {
    const implementation: Record<string, Handler> = {};
    const served = new Set<MessageHandler>();
    for (const [name, method] of Object.entries(def.methods)) {
      for (const streaming of method.kind === "unary" || method.kind === "server_streaming" ? UNARY : STREAMING) {
        const patterns = names.flatMap((service) => [method.name, name].map((rpc) => ({ service, rpc, streaming })));
        const handler = patterns.map((one) => this.messageHandlers.get(this.normalizePattern(one))).find(Boolean);
        if (handler === undefined || name in implementation) continue;
        served.add(handler);
        implementation[name] = createHandler(method, this.#run(handler, method), streaming, shapeOf?.(method) ?? SAME_SHAPE);
      }
    }
    for (const [pattern, handler] of this.messageHandlers) {
      const { service, rpc } = JSON.parse(pattern) as { service?: string; rpc?: string };
      if (names.includes(service ?? "") && !served.has(handler)) {
        throw new Error(`${service} has no method ${rpc}, or one of another kind than the decorator of its handler`);
      }
    }
    if (served.size > 0) this.#server.add(def, implementation);
  }

  /** Runs a handler between the hooks of Nest. */
  #run(handler: MessageHandler, { name }: Method): Run {
    return (call, ...args) =>
      new Observable((subscriber) => {
        const context = { ...call, operationId: name } as never;
        subscriber.add(() => this.onProcessingEndHook?.(Transport.GRPC, context));
        this.onProcessingStartHook(Transport.GRPC, context, async () => {
          try {
            const result = await (handler as (...given: readonly unknown[]) => Promise<unknown>)(...args);
            this.transformToObservable(result).subscribe(subscriber);
          } catch (error) {
            subscriber.error(error);
          }
        });
      });
  }
}

/** The kinds of handlers, as Nest names them in patterns, by preference. */
const UNARY = ["no_stream"];
const STREAMING = ["rx_stream", "pt_stream"];

/** Parses an address of Nest. Throws a `TypeError` for another one. */
function addressOf(url: string): ListenOptions {
  const [, path, v6, host, port] = /^(?:unix:(.+)|(?:\[([^\]]+)\]|([^:]+)):(\d+))$/.exec(url) ?? [];
  if (path !== undefined) return { path };
  if (port === undefined) throw new TypeError(`url must be a host and a port, such as localhost:5000, not ${url}`);
  return { host: (v6 ?? host) as string, port: Number(port) };
}
