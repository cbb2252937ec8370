/**
 * The data of Dubbo in a registry, whichever registry it is: entries of sessions, and texts that stay.
 */
import type { Instance, ServiceKey } from "triple-es/discovery";
import type { Publisher, Session } from "../registration.ts";
import type { StopWatch, Watcher } from "../watch.ts";
import type { ServiceInstance } from "./service-instance.ts";

/** Which levels consumers read. */
export type Levels = "all" | "instance" | "interface";

export const LEVELS: readonly Levels[] = ["all", "instance", "interface"];

/** Reports an entry that is malformed. The rest of the list is used. */
export type Warn = (problem: string) => void;

/** The data that consumers read. */
export interface DubboSource {
  /** The name of the registry in messages, such as `etcd`. */
  readonly name: string;
  /** Watches the providers of a service. */
  readonly watchProviders: (key: ServiceKey, watcher: Watcher<readonly string[]>) => StopWatch;
  /** Returns the URL of a provider. Throws an `Error` with the reason if it is malformed. */
  readonly decodeProvider: (provider: string) => string;
  /** Watches the instances of an application: the texts of its entries by their names. */
  readonly watchInstances: (
    application: string,
    warn: Warn,
    watcher: Watcher<ReadonlyMap<string, string>>,
  ) => StopWatch;
  /** Parses an instance. Returns `undefined` for one that takes no calls. Throws an `Error` with the reason if it is malformed. */
  readonly parseInstance: (text: string, application: string) => ServiceInstance | undefined;
  /** The applications that provide a service, separated by commas. */
  readonly mapping: (service: string) => Text;
  /** The services of an application, if it stores them in the registry (storage type `remote`). */
  readonly metadata: (application: string, revision: string) => Text;
  /** A rule, in the config center of the registry. */
  readonly rule: (key: string) => Text;
}

/** A text; `undefined` if there is none. */
export interface Text {
  readonly watch: (watcher: Watcher<string | undefined>) => StopWatch;
  readonly read: (signal: AbortSignal) => Promise<string | undefined>;
  /** Changes it by compare-and-set. `change` returns `undefined` to leave it as it is. */
  readonly change: (change: (content: string | undefined) => string | undefined) => Promise<void>;
}

/** A session that holds entries. They are removed when it ends. */
export interface EntrySession<Entry> extends Session {
  /** Creates or replaces an entry. */
  readonly put: (name: string, entry: Entry) => Promise<void>;
  /** Removes an entry, if the session still holds it. */
  readonly remove: (name: string, entry: Entry) => Promise<void>;
}

/** The whole content, with what providers and consumers write. */
export interface Store<Entry> extends DubboSource {
  /** True if Dubbo's consoles read the registry. */
  readonly hasConsoles: boolean;
  readonly open: Publisher<EntrySession<Entry>>["open"];
  /** Returns the entries of an instance by their names. */
  readonly entriesOf: (instance: Instance) => ReadonlyMap<string, Entry>;
  /** Returns the entry of a consumer of a service. Its port is 0, and its attributes are the parameters of its URL. */
  readonly consumerEntry: (key: ServiceKey, consumer: Instance) => readonly [name: string, entry: Entry];
  /** The definition of a service, for consoles, by a `provider` or `consumer`. */
  readonly definition: (service: ServiceKey, side: string, application: string) => Text;
}
