/**
 * The data that a Dubbo consumer reads from a registry, whichever registry it is.
 */

import type { ServiceKey } from "triple-es/discovery";
import type { StopWatch, Watcher } from "../watch.ts";
import type { DescribedService } from "./described-service.ts";
import type { ServiceInstance } from "./service-instance.ts";

/** Reports an entry that is malformed. The rest of the list is used. */
export type Warn = (problem: string) => void;

export interface DubboSource {
  /** The name of the registry in messages, such as `etcd`. */
  readonly name: string;
  /** Watches the provider URLs of a service, decoded. */
  readonly watchProviders: (key: ServiceKey, warn: Warn, watcher: Watcher<readonly string[]>) => StopWatch;
  /** Watches the applications that provide a service. */
  readonly watchApplications: (service: string, watcher: Watcher<readonly string[]>) => StopWatch;
  /** Watches the instances of an application. */
  readonly watchInstances: (application: string, warn: Warn, watcher: Watcher<readonly ServiceInstance[]>) => StopWatch;
  /** Watches the text of a rule, in the config center of the registry; `undefined` if there is none. */
  readonly watchRule: (key: string, watcher: Watcher<string | undefined>) => StopWatch;
  /** Reads the services that a provider has stored in the registry (storage type `remote`). `undefined`: there are none. */
  readonly readStoredMetadata: (
    application: string,
    revision: string,
    signal: AbortSignal,
  ) => Promise<readonly DescribedService[] | undefined>;
}
