/**
 * A model of the API server of Kubernetes at the interface of `node:http`: lists and watches of EndpointSlices, whose versions are
 * compacted (410 Gone), watches that end, break, or stand still, and requests that fail, are not answered, or break.
 */
import { EventEmitter } from "node:events";
import { Readable } from "node:stream";
import type { Endpoint, Resolver } from "triple-es/discovery";
import type { Product } from "./bundle.ts";
import type { EndpointSource } from "./endpoint-source.ts";
import type { Random } from "./random.ts";
import { systemError } from "./socket.ts";
import type { World } from "./world.ts";

export interface KubernetesPlan {
  readonly kind: "slices";
  /** The share of requests that fail, and of events with which a watch ends. */
  readonly failures: number;
  /** The share of changes with which watches end, and after which none can continue from an earlier version. */
  readonly compactions: number;
}

/** Longest time of a response and of an event, in milliseconds. */
const SLOW_MS = 20;
/** Longest time after which a watch ends that has no events, in milliseconds. */
const WATCH_MS = 2_000;
/** The slices of a service: each server is in one of them. */
const SLICES = 2;
const DAMAGED = "damaged";

interface Slice {
  readonly metadata: { readonly name: string; readonly resourceVersion: string };
  readonly endpoints: unknown;
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

interface Change {
  readonly version: number;
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly object: Slice;
}

type OnResponse = (response: Response) => void;

export class KubernetesModel {
  readonly #world: World;
  readonly #see: (what: string) => void;
  readonly #onFault: () => void;
  readonly #services = new Map<string, Service>();

  constructor(world: World, see: (what: string) => void, onFault: () => void) {
    this.#world = world;
    this.#see = see;
    this.#onFault = onFault;
  }

  /** Adds the service of a client. */
  add(name: string, plan: KubernetesPlan, product: Product, list: readonly Endpoint[]): EndpointSource {
    const resolver = product.kubernetes(name, { server: "http://kubernetes", namespace: "sim", token: () => "token" });
    const see = (what: string): void => this.#see(`Kubernetes: ${what}`);
    const service = new Service(
      plan,
      resolver,
      this.#world,
      this.#world.random(`kubernetes/${name}`),
      see,
      this.#onFault,
    );
    service.publish(list);
    this.#services.set(name, service);
    return service;
  }

  /** The substitute of `request` of the module `node:http`. */
  readonly request = (url: URL, { signal }: { readonly signal: AbortSignal }, onResponse: OnResponse): Request => {
    const [, name = ""] = /service-name=(.+)$/.exec(url.searchParams.get("labelSelector") ?? "") ?? [];
    const version = url.searchParams.get("resourceVersion");
    const request = new Request(this.#world, signal, onResponse);
    const from = version === null ? undefined : Number(version);
    this.#world.after(0, () => this.#services.get(name)?.answer(request, from));
    return request;
  };
}

/** A request of a client, until its response. */
class Request extends EventEmitter {
  readonly #world: World;
  readonly #onResponse: OnResponse;
  readonly #unlink: () => void;
  #response: Response | undefined;
  #isOver = false;
  #limit = 0;

  constructor(world: World, signal: AbortSignal, onResponse: OnResponse) {
    super();
    this.#world = world;
    this.#onResponse = onResponse;
    const onAbort = (): void => this.destroy(signal.reason);
    signal.addEventListener("abort", onAbort);
    this.#unlink = () => signal.removeEventListener("abort", onAbort);
  }

  setTimeout(ms: number, onTimeout?: () => void): void {
    const limit = ++this.#limit;
    if (ms > 0) this.#world.after(ms, () => limit === this.#limit && onTimeout?.());
  }

  end(): void {
    this.emit("socket", { setKeepAlive() {} });
  }

  destroy(reason: Error): void {
    this.#response?.destroy(reason);
    this.#unlink();
    if (!this.#isOver) this.#world.after(0, () => this.emit("error", reason));
    this.#isOver = true;
  }

  respond(response: Response): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#response = response.once("close", this.#unlink);
    this.#onResponse(response);
  }
}

/** A response, whose bytes arrive in pieces. */
class Response extends Readable {
  readonly statusCode: number;
  readonly socket = { unref(): void {} };
  readonly #world: World;
  readonly #random: Random;
  #lastAt = 0;

  constructor(world: World, random: Random, statusCode: number) {
    super({ read() {} });
    this.#world = world;
    this.#random = random;
    this.statusCode = statusCode;
  }

  send(text: string): this {
    const cut = this.#random.int(0, text.length);
    for (const part of [text.slice(0, cut), text.slice(cut)]) this.#later(() => part !== "" && this.push(part));
    return this;
  }

  /** Ends the body, or breaks the connection. */
  finish(isBroken: boolean): void {
    this.#later(() => {
      if (isBroken) this.destroy(systemError("ECONNRESET", "read"));
      else this.push(null);
    });
  }

  #later(run: () => void): void {
    this.#lastAt = Math.max(this.#lastAt, this.#world.now + this.#random.between(0.1, SLOW_MS));
    this.#world.at(this.#lastAt, () => {
      if (!this.destroyed && !this.readableEnded) run();
    });
  }
}

/** The EndpointSlices of a service. */
class Service implements EndpointSource {
  readonly resolver: Resolver;
  readonly #plan: KubernetesPlan;
  readonly #world: World;
  readonly #random: Random;
  readonly #see: (what: string) => void;
  readonly #onFault: () => void;
  readonly #slices = new Map<string, Slice>();
  readonly #watches = new Set<Response>();
  /** Requests without a response, and responses without an end. */
  readonly #stalled = new Set<Request | Response>();
  #changes: Change[] = [];
  #version = 1;
  #isFailing = false;
  #isHealed = false;

  constructor(
    plan: KubernetesPlan,
    resolver: Resolver,
    world: World,
    random: Random,
    see: (what: string) => void,
    onFault: () => void,
  ) {
    this.#plan = plan;
    this.resolver = resolver;
    this.#world = world;
    this.#random = random;
    this.#see = see;
    this.#onFault = onFault;
  }

  publish(list: readonly Endpoint[] | undefined): void {
    const isCompacted = this.#random.chance(this.#plan.compactions);
    this.#isFailing = list === undefined;
    if (this.#isFailing || isCompacted) for (const watch of this.#watches) this.#endWatch(watch, this.#isFailing);
    for (let slice = 0; slice < SLICES && list !== undefined; slice++) {
      const addresses = list.map(({ address }) => address.split(":") as [string, string]);
      const own = addresses.filter((_, index) => index % SLICES === slice);
      this.#set(
        `slice-${slice}`,
        own.length === 0 ? undefined : own.map(([host]) => ({ addresses: [host] })),
        own[0]?.[1],
      );
    }
    if (isCompacted) this.#changes = [];
  }

  heal(): void {
    this.#isHealed = true;
    for (const one of this.#stalled) one.destroy(systemError("ECONNRESET", "read"));
    for (const watch of this.#watches) this.#endWatch(watch, true);
  }

  /** Adds a slice whose endpoints are no list. */
  damage(isDamaged: boolean): void {
    this.#set(DAMAGED, isDamaged ? "none" : undefined, "1");
  }

  #set(name: string, endpoints: unknown, port = "0"): void {
    const before = this.#slices.get(name);
    if (JSON.stringify(before?.endpoints) === JSON.stringify(endpoints)) return;
    const version = ++this.#version;
    const metadata = { name, resourceVersion: String(version) };
    const object = {
      metadata,
      endpoints: endpoints ?? before?.endpoints,
      ports: [{ name: "grpc", port: Number(port) }],
    };
    if (endpoints === undefined) this.#slices.delete(name);
    else this.#slices.set(name, object);
    const change: Change = {
      version,
      type: endpoints === undefined ? "DELETED" : before === undefined ? "ADDED" : "MODIFIED",
      object,
    };
    this.#changes.push(change);
    for (const watch of this.#watches) this.#notify(watch, change);
  }

  /** Answers a request: a list, or a watch from a version. */
  answer(request: Request, from: number | undefined): void {
    if (this.#isHealed || !(this.#isFailing || this.#random.chance(this.#plan.failures))) {
      if (from === undefined) this.#list(request, false);
      else this.#watch(request, from);
      return;
    }
    this.#onFault();
    const how = this.#random.pick(["refused", "no response", "status", "broken", "no end"] as const);
    this.#see(how);
    if (how === "refused") request.destroy(systemError("ECONNREFUSED", "connect"));
    else if (how === "no response") this.#stalled.add(request);
    else if (how === "status") {
      const status = new Response(this.#world, this.#random, this.#random.pick([403, 429, 500]));
      status.send('{"message":"as planned"}').finish(false);
      request.respond(status);
    } else this.#list(request, true, how === "no end");
  }

  #list(request: Request, isBroken: boolean, isEndless = false): void {
    const metadata = { resourceVersion: String(this.#version) };
    const text = JSON.stringify({ metadata, items: this.#slices.size > 0 ? [...this.#slices.values()] : null });
    const response = new Response(this.#world, this.#random, 200);
    response.send(isBroken ? text.slice(0, this.#random.int(0, text.length - 1)) : text);
    if (isEndless) this.#stalled.add(response);
    else response.finish(isBroken && this.#random.chance(0.5));
    this.#see("list");
    request.respond(response);
  }

  #watch(request: Request, from: number): void {
    const isKnown = from >= (this.#changes[0]?.version ?? this.#version + 1) - 1;
    const isStatus = !isKnown && this.#random.chance(0.5);
    const response = new Response(this.#world, this.#random, isStatus ? 410 : 200);
    this.#see(isKnown ? "watch" : "version is gone");
    if (isKnown) {
      this.#watches.add(response);
      response.once("close", () => this.#watches.delete(response));
      for (const change of this.#changes) if (change.version > from) this.#notify(response, change);
      this.#world.after(this.#random.between(0, WATCH_MS), () => this.#mayEnd(response));
    } else {
      if (!isStatus) response.send(`${JSON.stringify({ type: "ERROR", object: { code: 410 } })}\n`);
      response.finish(false);
    }
    request.respond(response);
  }

  #notify(watch: Response, { type, object }: Change): void {
    watch.send(`${JSON.stringify({ type, object })}\n`);
    this.#mayEnd(watch);
  }

  #mayEnd(watch: Response): void {
    if (this.#isHealed || !this.#watches.has(watch) || !this.#random.chance(this.#plan.failures)) return;
    this.#see("watch ends");
    this.#watches.delete(watch);
    // One that stands still ends when all faults do.
    if (this.#random.chance(0.2)) this.#stalled.add(watch);
    else this.#endWatch(watch, this.#random.chance(0.5));
  }

  #endWatch(watch: Response, isBroken: boolean): void {
    this.#watches.delete(watch);
    watch.finish(isBroken);
  }
}
