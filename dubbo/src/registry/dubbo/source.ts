/**
 * The data that a Dubbo consumer reads from a registry, and the entries that it has in it, whichever registry it is.
 */
import type { Instance, Registration, RegistrationEvent, ServiceKey } from "triple-es/discovery";
import type { StopWatch, Watcher } from "../watch.ts";
import type { DescribedService } from "./metadata.ts";
import type { ServiceInstance } from "./service-instance.ts";

/** Reports an entry that is malformed. The rest of the list is used. */
export type Warn = (problem: string) => void;

/** A consumer of one service. Its port is 0, and its attributes are the parameters of its URL. */
export interface Consumer extends Instance {
  readonly key: ServiceKey;
  /** Returns its definition, which all processes of the application share, unless it is the given one. */
  readonly define: (content: string | undefined) => string | undefined;
  /** Resolves when the entry of the last consumer of the service is removed. The new one may be equal. */
  readonly freed: Promise<unknown>;
}

export interface DubboSource {
  /** The name of the registry in messages, such as `etcd`. */
  readonly name: string;
  /** Watches the provider URLs of a service, decoded. */
  readonly watchProviders: (key: ServiceKey, warn: Warn, watcher: Watcher<readonly string[]>) => StopWatch;
  /** Watches the applications that provide a service. */
  readonly watchApplications: (service: string, watcher: Watcher<readonly string[]>) => StopWatch;
  /** Watches the instances of an application. */
  readonly watchInstances: (application: string, warn: Warn, watcher: Watcher<readonly ServiceInstance[]>) => StopWatch;
  /** Keeps a consumer listed for consoles until the registration is closed. */
  readonly keepConsumer: (consumer: Consumer, onEvent: (event: RegistrationEvent) => void) => Registration;
  /** Watches the text of a rule, in the config center of the registry; `undefined` if there is none. */
  readonly watchRule: (key: string, watcher: Watcher<string | undefined>) => StopWatch;
  /**
   * Reads the services that a provider has stored in the registry (storage type `remote`). `undefined`: there are none. Rejects if
   * they are malformed.
   */
  readonly readStoredMetadata: (
    application: string,
    revision: string,
    signal: AbortSignal,
  ) => Promise<readonly DescribedService[] | undefined>;
}
