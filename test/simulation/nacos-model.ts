/**
 * A model of a Nacos cluster at its messages, served by our own server: connections with one stream each, instances that end
 * with their connection, subscriptions with delayed and repeated notifications, configurations with compare-and-set. All
 * members share one state; configurations stay when all members are away.
 */
import { createHash } from "node:crypto";
import type { HandlerContext } from "triple-es";
import type { Server } from "triple-es/node";
import type { Payload } from "../../dubbo/src/gen/nacos/nacos_grpc_service_pb.ts";
import type { PayloadInit } from "../../dubbo/src/gen/nacos/nacos_grpc_service_triple.ts";
import type { Product } from "./bundle.ts";
import { memberAddress, type RegistryModel } from "./registry-model.ts";
import type { World } from "./world.ts";

const GRPC_OFFSET = 1_000;
/** The time from a change to the notification of its subscribers, in milliseconds: changes in between are one. */
const NOTIFY_MS = 500;
/** The time for the answer to a notification, after which the list is sent again, in milliseconds. */
const ANSWER_MS = 3_000;
/** The longest time for which queries return the earlier content of a configuration, in milliseconds. */
const STALE_MS = 80;
/** The longest time for which requests wait that meet a busy server, in milliseconds. */
const BUSY_MS = 1_200;
/** Times in milliseconds: between two looks at silent connections, until a silent one is asked, and for its answer. */
const LOOK_MS = 3_000;
const SILENT_MS = 20_000;
const ANSWER_SILENT_MS = 5_000;

/** Error codes: a name that is not allowed, no such configuration, a connection without a setup, and any other failure. */
const INVALID = 400;
const NOT_FOUND = 300;
const UNKNOWN_CONNECTION = 301;
const FAILED = 500;
/** The value of `casMd5` for a configuration that must not exist. */
const ABSENT = "0";
const INVALID_NAME = /^@|@@|[\s\u4e00-\u9fa5]/;

type Fields = Readonly<Record<string, unknown>>;

interface Peer {
  readonly id: string;
  readonly member: number;
  /** The address of the client's end. */
  readonly address: string;
  /** Messages to send. `undefined` ends the stream. */
  readonly outbox: (PayloadInit | undefined)[];
  wake: () => void;
  heardAt: number;
  askedAt: number | undefined;
  /** The instances that the connection has registered, and the services that it subscribes to. */
  readonly instances: Map<string, Fields>;
  readonly subscriptions: Set<string>;
  /** The configurations that it listens to. */
  readonly listens: Set<string>;
  /** The requests of the server that have no answer. */
  readonly waiting: Set<string>;
}

interface Config {
  readonly content: string;
  readonly md5: string;
}

/** The clock, the timers and the randomness of a model. */
export type ModelWorld = Pick<World, "now" | "after" | "random" | "note">;

export class NacosModel implements RegistryModel {
  readonly port = 8848;
  /** The share of requests that meet a busy server. */
  busy = 0.15;
  readonly #product: Pick<Product, "createServer" | "RequestDef" | "BiRequestStreamDef">;
  readonly #world: ModelWorld;
  readonly #onChange: () => void;
  readonly #servers = new Map<number, Server>();
  /** Connections by the port of the client's end. */
  readonly #peers = new Map<number, Peer>();
  readonly #configs = new Map<string, Config>();
  /** The contents that queries still return. */
  readonly #earlier = new Map<string, Config | undefined>();
  readonly #notifying = new Set<string>();
  #lastId = 0;
  #malformed = 0;

  constructor(
    product: Pick<Product, "createServer" | "RequestDef" | "BiRequestStreamDef">,
    world: ModelWorld,
    onChange: () => void,
  ) {
    this.#product = product;
    this.#world = world;
    this.#onChange = onChange;
  }

  async start(member: number): Promise<void> {
    if (this.#servers.has(member)) return;
    await this.listen(member, memberAddress(member), this.port + GRPC_OFFSET);
  }

  /** Starts a member at an address. */
  async listen(member: number, host: string, port: number): Promise<Server> {
    const server = this.#product.createServer();
    this.#servers.set(member, server);
    server.add(this.#product.RequestDef, { request: (payload, context) => this.#serve(payload, context) });
    server.add(this.#product.BiRequestStreamDef, {
      requestBiStream: (payloads, context) => this.#connect(member, payloads, context),
    });
    await server.listen({ host, port });
    return server;
  }

  async stop(member: number): Promise<void> {
    const server = this.#servers.get(member);
    this.#servers.delete(member);
    for (const [port, peer] of this.#peers) if (peer.member === member) this.#forget(port);
    await server?.close({ graceMs: 0 });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#servers.keys()].map((member) => this.stop(member)));
  }

  *paths(): Iterable<string> {
    for (const { instances } of this.#peers.values()) {
      for (const [service, { ip, port }] of instances) {
        const [kind, name, ...rest] = service.split(":");
        yield rest.length === 0
          ? `/services/${service}/${ip}:${port}`
          : `/dubbo/${name}/${kind}/${encodeURIComponent(`tri://${ip}:${port}/`)}`;
      }
    }
  }

  get isStale(): boolean {
    return this.#earlier.size > 0;
  }

  loseData(): void {
    for (const port of [...this.#peers.keys()]) this.#forget(port);
    this.#configs.clear();
    this.#earlier.clear();
  }

  /** Ends all connections: by their end, without a sign, or by a request to connect to another member. */
  expire(): void {
    const random = this.#world.random("nacos");
    for (const [port, peer] of [...this.#peers]) {
      const how = random.pick(["end", "forget", "reset", "redirect"] as const);
      this.#world.note("expire", `connection ${peer.id}`, how);
      if (how === "reset" || how === "redirect") {
        const to = random.pick([...this.#servers.keys()]);
        const host = peer.address.replace(/\d+$/, memberAddress(to).split(".")[3] ?? "");
        const redirect = how === "redirect" ? { serverIp: host, serverPort: String(this.port) } : {};
        this.#send(peer, "ConnectResetRequest", redirect);
        continue;
      }
      this.#forget(port);
      if (how === "end") this.#push(peer, undefined);
    }
  }

  compact(): void {}

  malform(replies: number): void {
    this.#malformed = replies;
  }

  #send(peer: Peer, type: string, fields: Fields): string {
    const requestId = String(++this.#lastId);
    this.#push(peer, payloadOf(type, { ...fields, requestId, headers: {} }));
    return requestId;
  }

  #push(peer: Peer, payload: PayloadInit | undefined): void {
    peer.outbox.push(payload);
    peer.wake();
  }

  /** Removes a connection, with its instances and subscriptions. */
  #forget(port: number): void {
    const peer = this.#peers.get(port);
    if (peer === undefined) return;
    this.#peers.delete(port);
    for (const service of peer.instances.keys()) this.#notifySubscribers(service);
    if (peer.instances.size > 0) this.#onChange();
  }

  // Connections

  async *#connect(
    member: number,
    payloads: AsyncIterable<Payload>,
    context: HandlerContext,
  ): AsyncIterable<PayloadInit> {
    const { address = "", port = 0 } = context.peer;
    const peer: Peer = {
      id: `${++this.#lastId}_${address}_${port}`,
      member,
      address,
      outbox: [],
      wake: () => {},
      heardAt: this.#world.now,
      askedAt: undefined,
      instances: new Map(),
      subscriptions: new Set(),
      listens: new Set(),
      waiting: new Set(),
    };
    const end = (): void => this.#push(peer, undefined);
    this.#receive(peer, port, payloads).then(end, end);
    context.signal.addEventListener("abort", end);
    try {
      for (;;) {
        const next = peer.outbox.splice(0);
        for (const payload of next) {
          if (payload === undefined) return;
          yield payload;
        }
        if (peer.outbox.length === 0) await new Promise<void>((wake) => Object.assign(peer, { wake }));
      }
    } finally {
      if (this.#peers.get(port) === peer) this.#forget(port);
    }
  }

  async #receive(peer: Peer, port: number, payloads: AsyncIterable<Payload>): Promise<void> {
    for await (const payload of payloads) {
      peer.heardAt = this.#world.now;
      peer.askedAt = undefined;
      const { requestId } = fieldsOf(payload);
      if (payload.metadata?.type !== "ConnectionSetupRequest") {
        peer.waiting.delete(String(requestId));
        continue;
      }
      this.#peers.set(port, peer);
      this.#look(peer, port);
      this.#send(peer, "SetupAckRequest", { abilityTable: {} });
    }
  }

  /** Asks a silent connection whether it is there, and removes it if it does not answer. */
  #look(peer: Peer, port: number): void {
    this.#world.after(LOOK_MS, () => {
      if (this.#peers.get(port) !== peer) return;
      const { now } = this.#world;
      if (peer.askedAt !== undefined && now - peer.askedAt > ANSWER_SILENT_MS) {
        this.#world.note("expire", `connection ${peer.id}`, "silent");
        this.#forget(port);
        this.#push(peer, undefined);
        return;
      }
      if (peer.askedAt === undefined && now - peer.heardAt > SILENT_MS) {
        peer.askedAt = now;
        this.#send(peer, "ClientDetectionRequest", {});
      }
      this.#look(peer, port);
    });
  }

  // Requests

  /** Carries out a request after a while, so that those of a connection pass each other, and answers after another while. */
  async #serve(payload: Payload, { peer: { port = 0 } }: HandlerContext): Promise<PayloadInit> {
    const type = payload.metadata?.type ?? "";
    const { requestId, ...fields } = fieldsOf(payload);
    await this.#pause();
    const peer = this.#peers.get(port);
    if (peer !== undefined) peer.heardAt = this.#world.now;
    const response = this.#answer(type, fields, peer);
    await this.#pause();
    const name = type.replace(/Request$/, "Response");
    if (this.#malformed > 0 && peer !== undefined && type !== "HealthCheckRequest" && fields["subscribe"] !== false) {
      this.#malformed--;
      return this.#malformedOf(name, { ...response, requestId });
    }
    const { resultCode = 200 } = response;
    const failed = resultCode !== 200 && response["errorCode"] !== NOT_FOUND;
    return payloadOf(failed ? "ErrorResponse" : name, { resultCode, errorCode: 0, ...response, requestId });
  }

  #pause(): Promise<void> {
    const random = this.#world.random("nacos");
    const ms = random.chance(this.busy) ? random.between(0, BUSY_MS) : random.log(0.01, 20);
    return new Promise((resolve) => this.#world.after(ms, resolve));
  }

  #malformedOf(type: string, fields: Fields): PayloadInit {
    const kind = this.#world.random("nacos").pick(["no JSON", "no object", "no type", "failure", "unknown"] as const);
    if (kind === "no JSON") return { metadata: { type }, body: { value: Buffer.from('{"resultCode":20') } };
    if (kind === "no object") return { metadata: { type }, body: { value: Buffer.from("null") } };
    if (kind === "no type") return { body: { value: Buffer.from("") } };
    const errorCode = kind === "failure" ? FAILED : UNKNOWN_CONNECTION;
    return payloadOf("ErrorResponse", { ...fields, ...failure(errorCode, "the server is busy") });
  }

  #answer(type: string, fields: Fields, peer: Peer | undefined): Fields {
    if (type === "ServerCheckRequest") return { connectionId: `${++this.#lastId}`, supportAbilityNegotiation: true };
    if (peer === undefined) return failure(UNKNOWN_CONNECTION, "Connection is unregistered.");
    const service = String(fields["serviceName"]);
    switch (type) {
      case "HealthCheckRequest":
        return {};
      case "InstanceRequest":
        if (INVALID_NAME.test(service)) return failure(INVALID, `Param 'serviceName' is illegal`);
        return this.#write(peer, service, fields);
      case "SubscribeServiceRequest":
        if (INVALID_NAME.test(service)) return failure(INVALID, `Param 'serviceName' is illegal`);
        if (fields["subscribe"] === true) peer.subscriptions.add(service);
        else peer.subscriptions.delete(service);
        return { serviceInfo: this.#listOf(service) };
      case "ConfigQueryRequest":
        return this.#query(keyOf(fields));
      case "ConfigPublishRequest":
        return this.#publish(keyOf(fields), fields);
      case "ConfigBatchListenRequest":
        return this.#listen(peer, fields);
      default:
        return failure(FAILED, `the model has no ${type}`);
    }
  }

  #write(peer: Peer, service: string, { type, instance }: Fields): Fields {
    if (type === "registerInstance") peer.instances.set(service, instance as Fields);
    else peer.instances.delete(service);
    this.#notifySubscribers(service);
    this.#onChange();
    return { type };
  }

  /** The list of a service. Two connections may have the same instance: that of a lost connection, and its successor. */
  #listOf(service: string): Fields {
    const hosts = new Set<string>();
    for (const { instances } of this.#peers.values()) {
      const instance = instances.get(service);
      if (instance !== undefined) hosts.add(JSON.stringify(instance));
    }
    return {
      name: service,
      groupName: "DEFAULT_GROUP",
      hosts: [...hosts].map((host) => JSON.parse(host) as Fields),
      lastRefTime: Math.floor(this.#world.now),
    };
  }

  #notifySubscribers(service: string): void {
    if (this.#notifying.has(service)) return;
    this.#notifying.add(service);
    this.#world.after(NOTIFY_MS, () => {
      this.#notifying.delete(service);
      for (const [port, peer] of this.#peers) this.#notify(port, peer, service);
    });
  }

  /** Sends the list of a service, and again until the client answers. */
  #notify(port: number, peer: Peer, service: string): void {
    if (this.#peers.get(port) !== peer || !peer.subscriptions.has(service)) return;
    const requestId = this.#send(peer, "NotifySubscriberRequest", { serviceInfo: this.#listOf(service) });
    peer.waiting.add(requestId);
    this.#world.after(ANSWER_MS, () => {
      if (peer.waiting.delete(requestId)) this.#notify(port, peer, service);
    });
  }

  #query(key: string): Fields {
    const config = this.#earlier.has(key) ? this.#earlier.get(key) : this.#configs.get(key);
    return config === undefined ? failure(NOT_FOUND, "config data not exist") : { ...config };
  }

  #publish(key: string, { content, casMd5 }: Fields): Fields {
    const last = this.#configs.get(key);
    if (casMd5 !== (last?.md5 ?? ABSENT)) return failure(FAILED, "Cas publish fail, server md5 may have changed.");
    const text = String(content);
    const config = { content: text, md5: createHash("md5").update(text).digest("hex") };
    this.#configs.set(key, config);
    if (!this.#earlier.has(key)) this.#earlier.set(key, last);
    this.#world.after(this.#world.random("nacos").between(0, STALE_MS), () => {
      // A later change is visible after its own time.
      if (this.#configs.get(key) !== config) return;
      this.#earlier.delete(key);
      const [tenant, group, dataId] = key.split("\n");
      for (const peer of this.#peers.values()) {
        if (peer.listens.has(key)) this.#send(peer, "ConfigChangeNotifyRequest", { dataId, group, tenant });
      }
    });
    return {};
  }

  #listen(peer: Peer, { listen, configListenContexts }: Fields): Fields {
    const contexts = configListenContexts as readonly Fields[];
    const changed = contexts.filter((context) => {
      const key = keyOf(context);
      if (listen === true) peer.listens.add(key);
      else peer.listens.delete(key);
      return listen === true && (this.#query(key)["md5"] ?? "") !== context["md5"];
    });
    return { changedConfigs: changed.map(({ dataId, group, tenant }) => ({ dataId, group, tenant })) };
  }
}

function keyOf({ tenant, group, dataId }: Fields): string {
  return [tenant, group, dataId].join("\n");
}

function failure(errorCode: number, message: string): Fields {
  return { resultCode: FAILED, errorCode, message };
}

function payloadOf(type: string, fields: Fields): PayloadInit {
  return { metadata: { type }, body: { value: Buffer.from(JSON.stringify(fields)) } };
}

function fieldsOf({ body }: Payload): Fields {
  return JSON.parse(Buffer.from(body?.value ?? []).toString()) as Fields;
}
