/**
 * The services of instances, by application and revision. One instance is asked for each revision; if it does not answer, the
 * instances are used without their metadata, and one is asked again later.
 */
import type { InstanceConnection } from "triple-es/discovery";
import { now, startTimer } from "triple-es/internal";
import { readInstanceMetadata } from "../metadata-service.ts";
import { type DescribedService, parseMetadata } from "./metadata.ts";
import { metadataAddress, revisionOfInstance, type ServiceInstance } from "./service-instance.ts";
import type { DubboSource } from "./source.ts";

type Open = ((address: string) => InstanceConnection) | undefined;

/** Maximum number of revisions that are kept. */
const MAX_REVISIONS = 1_000;
/** Maximum number of instances that are asked at the same time. */
const MAX_CONCURRENT = 10;
/** Maximum number of instances of one revision that are asked in a row. */
const MAX_ASKED = 3;
/** Time limit of one question, in milliseconds. */
const READ_TIMEOUT_MS = 2_000;
/** Time until a revision whose instances have not answered is asked for again, in milliseconds. */
export const REVISION_RETRY_MS = 30_000;

interface Entry {
  readonly loaded: Promise<void>;
  services: readonly DescribedService[] | undefined;
  /** The time after which the entry is loaded again; infinite if it has the services. */
  expiresAt: number;
}

export class MetadataCache {
  readonly #source: DubboSource;
  readonly #entries = new Map<string, Entry>();
  readonly #queue: (() => void)[] = [];
  #running = 0;

  constructor(source: DubboSource) {
    this.#source = source;
  }

  /** Returns the services of an instance, if they are known. */
  get(instance: ServiceInstance): readonly DescribedService[] | undefined {
    return this.#entries.get(keyOf(instance))?.services;
  }

  /** Loads the services of all revisions that are not known. Never rejects. Resolves at once if all are known. */
  async load(instances: readonly ServiceInstance[], open: Open): Promise<void> {
    const unknown = new Map<string, ServiceInstance[]>();
    for (const instance of instances) {
      if (instance.services !== undefined || revisionOfInstance(instance) === undefined) continue;
      const key = keyOf(instance);
      const known = this.#entries.get(key);
      if (known !== undefined && known.expiresAt > now()) continue;
      unknown.set(key, [...(unknown.get(key) ?? []), instance].slice(0, MAX_ASKED));
    }
    for (const [key, some] of unknown) this.#start(key, some, open);
    const loading = instances.flatMap((instance) => this.#entries.get(keyOf(instance))?.loaded ?? []);
    await Promise.all(new Set(loading));
  }

  /** Reports whether one of the instances has not answered: it is asked again after {@link REVISION_RETRY_MS}. */
  lacksSome(instances: readonly ServiceInstance[]): boolean {
    return instances.some((one) => Number.isFinite(this.#entries.get(keyOf(one))?.expiresAt));
  }

  #start(key: string, instances: readonly ServiceInstance[], open: Open): void {
    const entry: Entry = {
      loaded: this.#inTurn(async () => {
        const services = await this.#ask(instances, open);
        if (services === undefined) entry.expiresAt = now() + REVISION_RETRY_MS;
        else entry.services = services;
      }),
      services: this.#entries.get(key)?.services,
      expiresAt: Number.POSITIVE_INFINITY,
    };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    for (const oldest of this.#entries.keys()) {
      if (this.#entries.size <= MAX_REVISIONS) break;
      this.#entries.delete(oldest);
    }
  }

  /** Runs the work when fewer than {@link MAX_CONCURRENT} are running. */
  async #inTurn(work: () => Promise<void>): Promise<void> {
    while (this.#running >= MAX_CONCURRENT) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#running++;
    try {
      await work();
    } finally {
      this.#running--;
      this.#queue.shift()?.();
    }
  }

  async #ask(instances: readonly ServiceInstance[], open: Open): Promise<readonly DescribedService[] | undefined> {
    for (const instance of instances) {
      try {
        const services = await this.#read(instance, open);
        if (services !== undefined) return services;
      } catch {
        // Another instance of the same revision may answer; without metadata the instances are used as they are.
      }
    }
    return undefined;
  }

  async #read(instance: ServiceInstance, open: Open): Promise<readonly DescribedService[] | undefined> {
    const { application, metadata } = instance;
    const revision = metadata["dubbo.metadata.revision"] ?? "";
    const address = metadataAddress(instance);
    const isStored = metadata["dubbo.metadata.storage-type"] === "remote";
    if (!isStored && (address === undefined || open === undefined)) return undefined;
    const timeout = new AbortController();
    const stop = startTimer(READ_TIMEOUT_MS, () => timeout.abort());
    try {
      if (isStored) {
        const content = await this.#source.metadata(application, revision).read(timeout.signal);
        return content === undefined ? undefined : parseMetadata(JSON.parse(content));
      }
      const connection = open?.(address as string);
      return connection && (await readInstanceMetadata(connection, application, revision, timeout.signal));
    } finally {
      stop();
    }
  }
}

function keyOf(instance: ServiceInstance): string {
  return `${instance.application} ${instance.metadata["dubbo.metadata.revision"] ?? ""}`;
}
