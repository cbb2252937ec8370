/**
 * A connection to a server of Nacos 2 or 3: an HTTP/2 connection with one stream, on which the server sends requests, and
 * unary calls for the requests of the client. The server knows a client by its connection, so the stream and the unary
 * calls share it.
 *
 *     → ServerCheckRequest        ← ServerCheckResponse
 *     → ConnectionSetupRequest    ← SetupAckRequest      on the stream; no response is sent to it
 *     → HealthCheckRequest                               every 5 s
 */
import { type ClosableTransport, Code, RpcError } from "triple-es";
import {
  delayInBackground,
  repeat,
  resolvedWithin,
  startBackgroundTimer,
  unlessAborted,
  VERSION,
} from "triple-es/internal";
import type { Payload } from "../../gen/nacos/nacos_grpc_service_pb.ts";
import {
  createBiRequestStreamClient,
  createRequestClient,
  type PayloadInit,
  type RequestClient,
} from "../../gen/nacos/nacos_grpc_service_triple.ts";
import { Changes } from "../watch.ts";

/** The members of a message that are read, besides those of its type. */
export interface NacosMessage {
  readonly requestId?: string;
  readonly resultCode?: number;
  readonly errorCode?: number;
  readonly message?: string | null;
  readonly [name: string]: unknown;
}

/** The half of Nacos that a connection uses: instances of services, or configurations. */
export type NacosModule = "naming" | "config";

export interface NacosConnectionOptions {
  readonly module: NacosModule;
  /** The id of the namespace; empty for the default one. */
  readonly namespace: string;
  /** Returns the access token, another one if the last one was refused; `undefined` if the server needs none. */
  readonly token: (isRefused: boolean) => Promise<string | undefined>;
}

const NACOS_TIMEOUT_MS = 3_000;
const HEALTH_CHECK_MS = 5_000;
/** The time for the server's acknowledgement of the setup, in milliseconds. */
const SETUP_MS = 3_000;
/** The time after which the setup is complete on servers that do not acknowledge it (Nacos before 2.3), in milliseconds. */
const UNCONFIRMED_SETUP_MS = 200;
/**
 * The time after which a connection that the server asked to be replaced is ended, if the server has not ended it, in
 * milliseconds.
 */
const LEAVING_MS = 1_000;
/** The error code for a connection that the server does not know. */
const UNKNOWN_CONNECTION = 301;
/** Error codes of requests that are refused each time: an invalid name, and a token that is missing or expired. */
const REFUSALS: Readonly<Record<number, Code>> = { 400: Code.InvalidArgument, 403: Code.PermissionDenied };

/** Handles a request of the server. The response is sent afterwards. */
export type RequestHandler = (request: NacosMessage) => void;

export class NacosConnection {
  /** The address that the server asked the client to connect to instead. */
  redirect: string | undefined;
  readonly #transport: ClosableTransport;
  readonly #client: RequestClient;
  readonly #options: NacosConnectionOptions;
  readonly #lost = new AbortController();
  /** Fires when the connection has ended. The server has then removed its instances and subscriptions. */
  readonly lost: AbortSignal = this.#lost.signal;
  readonly #outbox: PayloadInit[] = [];
  readonly #written = new Changes();
  readonly #handlers = new Map<string, RequestHandler>();
  #stopHealthChecks = (): void => {};
  #lastId = 0;
  /** The reason for the end of the connection, once the server has asked for another one. */
  #leaving: RpcError | undefined;

  constructor(transport: ClosableTransport, options: NacosConnectionOptions) {
    this.#transport = transport;
    this.#client = createRequestClient(transport, { timeoutMs: NACOS_TIMEOUT_MS });
    this.#options = options;
  }

  /** Connects. Rejects, and ends the connection, if the server cannot be reached or refuses it. */
  async open(signal: AbortSignal): Promise<void> {
    try {
      const check = await unlessAborted(this.request("ServerCheckRequest", {}), signal);
      const acknowledged = new Promise<void>((resolve) => this.on("SetupAckRequest", () => resolve()));
      void this.#receive();
      await this.#send("ConnectionSetupRequest", {
        clientVersion: `triple-es:v${VERSION}`,
        tenant: this.#options.namespace,
        labels: { source: "sdk", module: this.#options.module },
        abilityTable: {},
      });
      const isAcknowledged = check["supportAbilityNegotiation"] === true;
      if (!isAcknowledged) await unlessAborted(delayInBackground(UNCONFIRMED_SETUP_MS), signal);
      else if (!(await unlessAborted(resolvedWithin(acknowledged, SETUP_MS), signal))) {
        throw new RpcError(Code.Unavailable, "the server did not acknowledge the connection");
      }
      this.lost.throwIfAborted();
    } catch (reason) {
      this.end(reason);
      throw reason;
    }
    this.#stopHealthChecks = repeat(HEALTH_CHECK_MS, () => this.#checkHealth());
  }

  /** Sends a request. Resolves with its response. Rejects with an `RpcError` if the server refuses it. */
  async request(type: string, fields: object): Promise<NacosMessage> {
    const response = await this.query(type, fields);
    if (response.resultCode === 200) return response;
    throw refusal(type, response);
  }

  /** Like {@link request}, but resolves with responses that report a failure, too. */
  async query(type: string, fields: object): Promise<NacosMessage> {
    this.lost.throwIfAborted();
    const payload = await this.#payload(type, { ...fields, requestId: String(++this.#lastId) });
    const response = readBody(await this.#client.request(payload, { signal: this.lost }));
    if (REFUSALS[response.errorCode ?? 0] === Code.PermissionDenied) this.#options.token(true).catch(() => {});
    if (response.errorCode === UNKNOWN_CONNECTION)
      this.end(new RpcError(Code.Unavailable, "the server lost the connection"));
    return response;
  }

  /** Sets the handler for requests of the server of a type. */
  on(type: string, handler: RequestHandler): void {
    this.#handlers.set(type, handler);
  }

  /** Ends the connection. No effect if it has ended. */
  end(reason: unknown): void {
    if (this.lost.aborted) return;
    this.#stopHealthChecks();
    this.#lost.abort(RpcError.from(reason, Code.Unavailable));
    void this.#transport.close({ graceMs: 0 });
  }

  async #payload(type: string, body: object): Promise<PayloadInit> {
    const token = type === "ServerCheckRequest" ? undefined : await this.#options.token(false);
    const headers: Record<string, string> = token === undefined ? {} : { accessToken: token };
    const { module } = this.#options;
    const value = new TextEncoder().encode(JSON.stringify({ module, ...body }));
    return { metadata: { type, clientIp: "127.0.0.1", headers }, body: { value } };
  }

  async #send(type: string, body: object): Promise<void> {
    this.#outbox.push(await this.#payload(type, body));
    this.#written.set();
  }

  async *#sent(): AsyncGenerator<PayloadInit, void> {
    while (this.#leaving === undefined) {
      await this.#written.next(this.lost);
      yield* this.#outbox.splice(0);
    }
  }

  /** Handles the requests of the server until the stream ends. */
  async #receive(): Promise<void> {
    const stream = createBiRequestStreamClient(this.#transport).requestBiStream(this.#sent(), { signal: this.lost });
    try {
      for await (const payload of stream) await this.#handle(payload);
      this.end(this.#leaving ?? new RpcError(Code.Unavailable, "the server ended the connection"));
    } catch (reason) {
      this.end(reason);
    }
  }

  async #handle(payload: Payload): Promise<void> {
    const type = payload.metadata?.type ?? "";
    const request = readBody(payload);
    this.#handlers.get(type)?.(request);
    if (type === "SetupAckRequest" || !type.endsWith("Request")) return;
    if (type === "ConnectResetRequest") this.#leave(request);
    const { requestId } = request;
    await this.#send(type.replace(/Request$/, "Response"), { requestId, resultCode: 200, errorCode: 0 });
  }

  /** Ends the stream after the response to the request, for which the server waits. The server then ends its half. */
  #leave(request: NacosMessage): void {
    const { serverIp, serverPort } = request as { readonly serverIp?: string; readonly serverPort?: string };
    if (serverIp && serverPort) this.redirect = `${serverIp}:${serverPort}`;
    const reason = new RpcError(Code.Unavailable, "the server asked for a new connection");
    this.#leaving = reason;
    startBackgroundTimer(LEAVING_MS, () => this.end(reason));
  }

  async #checkHealth(): Promise<void> {
    const check = (): Promise<unknown> => this.request("HealthCheckRequest", {});
    await check()
      .catch(check)
      .catch((reason: unknown) => this.end(reason));
  }
}

/** The error of a response that reports a failure. */
export function refusal(type: string, { resultCode, errorCode, message }: NacosMessage): RpcError {
  const code = REFUSALS[errorCode ?? 0] ?? Code.Unavailable;
  return new RpcError(code, `the server refused ${type}: ${message ?? "no reason"} (${errorCode ?? resultCode})`);
}

function readBody({ metadata, body }: Payload): NacosMessage {
  try {
    const json = JSON.parse(new TextDecoder().decode(body?.value ?? new Uint8Array()));
    if (typeof json === "object" && json !== null) return json;
  } catch {
    // reported below
  }
  const problem = `a message of the server is malformed: ${metadata?.type ?? "no type"} is not JSON`;
  throw new RpcError(Code.Unavailable, problem);
}
