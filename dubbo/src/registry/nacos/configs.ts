/**
 * Configurations in Nacos, in which Dubbo keeps the mapping from services to applications and the metadata of applications.
 */
import { Code, RpcError } from "triple-es";
import { delayInBackground, random, startBackgroundTimer } from "triple-es/internal";
import { Changes, type StopWatch, startWatch, type Watcher } from "../watch.ts";
import type { NacosClient } from "./client.ts";
import { type NacosConnection, type RequestHandler, refusal } from "./connection.ts";
import { lostOrEnded } from "./naming.ts";

/** The name of a configuration. */
export interface ConfigKey {
  readonly dataId: string;
  readonly group: string;
}

interface Config {
  readonly content: string | undefined;
  /** The MD5 of the content; empty if there is none. */
  readonly md5: string;
}

const NOT_FOUND = 300;
/** The value of `casMd5` for a configuration that must not exist. */
const ABSENT = "0";
/** The number of attempts to change a configuration that others change at the same time. */
const ATTEMPTS = 20;
/** The longest pause between two attempts, in milliseconds. */
const MAX_PAUSE_MS = 200;
/** The pause after a notification, in milliseconds: a query directly after a change may still return the earlier content. */
const SETTLE_MS = 100;
/** Time after which a configuration is compared again, in milliseconds, in case a notification was lost. */
const COMPARE_MS = 60_000;

export class Configs {
  readonly #client: NacosClient;
  readonly #tenant: string;
  /** The callbacks of the watches by the names of their configurations. */
  readonly #callbacks = new Map<string, Set<() => void>>();

  constructor(client: NacosClient, namespace: string) {
    this.#client = client;
    this.#tenant = namespace;
  }

  /** Returns the content; `undefined` if there is no such configuration. */
  async read(key: ConfigKey): Promise<string | undefined> {
    return (await this.#query(await this.#client.connected(), key)).content;
  }

  /** Watches the content of a configuration; `undefined` if there is none. Fails when the connection is lost. */
  watch(key: ConfigKey, watcher: Watcher<string | undefined>): StopWatch {
    return startWatch(watcher, async (report, signal) => {
      const connection = await this.#client.connected();
      if (signal.aborted) return;
      const changes = new Changes();
      const stop = this.#listen(connection, key, changes.set);
      void lostOrEnded(connection, signal).catch(changes.fail);
      try {
        for (let last: string | undefined; !signal.aborted; ) {
          const { content, md5 } = await this.#query(connection, key);
          if (md5 !== last) report(content);
          last = md5;
          // The response names the configuration if it has changed since the query.
          if (await this.#hasChanged(connection, key, md5, true)) await delayInBackground(SETTLE_MS, signal);
          else await unlessLate(changes, signal);
        }
      } finally {
        if (stop()) this.#hasChanged(connection, key, "", false).catch(() => {});
      }
    });
  }

  /**
   * Changes a configuration by compare-and-set. `change` returns `undefined` to leave it as it is. Rejects if others change it all
   * the time, and if the server refuses the change for another reason, such as a lack of rights.
   */
  async change(key: ConfigKey, change: (content: string | undefined) => string | undefined): Promise<void> {
    const connection = await this.#client.connected();
    for (let attempt = 1; ; attempt++) {
      const { content, md5 } = await this.#query(connection, key);
      const next = change(content);
      if (next === undefined) return;
      const fields = { ...this.#fields(key), content: next, casMd5: md5 || ABSENT, additionMap: { type: "text" } };
      const published = connection.request("ConfigPublishRequest", fields);
      const refusal = await published.then(() => undefined, RpcError.from);
      if (refusal === undefined) return;
      if (refusal.code !== Code.Unavailable || attempt === ATTEMPTS) throw refusal;
      await delayInBackground(random() * MAX_PAUSE_MS);
    }
  }

  #fields({ dataId, group }: ConfigKey) {
    return { dataId, group, tenant: this.#tenant };
  }

  async #query(connection: NacosConnection, key: ConfigKey): Promise<Config> {
    const response = await connection.query("ConfigQueryRequest", this.#fields(key));
    const { resultCode, errorCode, content, md5 } = response;
    if (errorCode === NOT_FOUND) return { content: undefined, md5: "" };
    if (resultCode === 200 && typeof content === "string") return { content, md5: typeof md5 === "string" ? md5 : "" };
    throw refusal("ConfigQueryRequest", response);
  }

  /** Tells the server which content is known. Returns true if it has another one. */
  async #hasChanged(connection: NacosConnection, key: ConfigKey, md5: string, listen: boolean): Promise<boolean> {
    const configListenContexts = [{ ...this.#fields(key), md5 }];
    const response = await connection.request("ConfigBatchListenRequest", { listen, configListenContexts });
    const { changedConfigs } = response as { readonly changedConfigs?: readonly unknown[] | null };
    return (changedConfigs ?? []).length > 0;
  }

  /** Calls back when the server reports a change. Returns a function that ends it, and returns true for the last watch. */
  #listen(connection: NacosConnection, key: ConfigKey, callback: () => void): () => boolean {
    connection.on("ConfigChangeNotifyRequest", this.#onNotify);
    const name = nameOf(key);
    const callbacks = this.#callbacks.get(name) ?? new Set();
    this.#callbacks.set(name, callbacks.add(callback));
    return () => callbacks.delete(callback) && callbacks.size === 0 && this.#callbacks.delete(name);
  }

  readonly #onNotify: RequestHandler = (request) => {
    for (const callback of this.#callbacks.get(nameOf(request as unknown as ConfigKey)) ?? []) callback();
  };
}

const nameOf = ({ dataId, group }: ConfigKey): string => `${group}\n${dataId}`;

/** Waits for a change, at most for {@link COMPARE_MS}. */
async function unlessLate(changes: Changes, signal: AbortSignal): Promise<void> {
  const stopTimer = startBackgroundTimer(COMPARE_MS, changes.set);
  await changes.next(signal).finally(stopTimer);
}
