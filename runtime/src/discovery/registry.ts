/**
 * Registries: services, such as ZooKeeper, in which providers register their endpoints and in which consumers find them.
 */
import type { Call, Method } from "../call/call.ts";
import type { RpcError } from "../call/error.ts";
import type { Balancer, RoutedBalancer } from "./balancer.ts";
import type { Resolver } from "./endpoint.ts";

/** A service that is called or offered, with its group and version. An absent value equals an empty one. */
export interface ServiceKey {
  /** The full name of the service, such as `greet.v1.GreetService`. */
  readonly service: string;
  /** Group of the service. Default: none. */
  readonly group?: string | undefined;
  /** Version of the service. Default: none. */
  readonly version?: string | undefined;
}

/** A service that an instance offers. */
export interface OfferedService extends ServiceKey {
  /** Parameters that consumers read, such as `prefer.serialization`. Default: none. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
  /** The methods, which registries describe for consoles. Default: the service is not described. */
  readonly methods?: readonly Method[] | undefined;
}

/** A transport to one instance, for calls of its metadata service. */
export interface InstanceConnection {
  /** Calls a method of the instance. */
  readonly call: Call;
  /** Closes the connection. Never rejects. */
  readonly close: () => Promise<void>;
}

/** A process that offers services at an address. */
export interface Instance {
  /** The name of the application. Consumers find its instances by it. */
  readonly application: string;
  /** The host that consumers connect to: a name or an IP address, without brackets. */
  readonly host: string;
  /** The port that consumers connect to. */
  readonly port: number;
  /** The services that it offers. */
  readonly services: readonly OfferedService[];
  /** Share of calls relative to other instances. Default: 100. */
  readonly weight?: number | undefined;
  /**
   * Time at which it began to serve, in milliseconds since 1970. Consumers increase its share from then on. Default:
   * none.
   */
  readonly since?: number | undefined;
  /** Other attributes for consumers, such as `dubbo.tag`. */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
  /** Which entries are written: its application and instance, its services (as Dubbo before 3.0), or both. Default: `all`. */
  readonly mode?: "all" | "instance" | "interface" | undefined;
  /** True: it has no entries, so that consumers choose others, and it serves calls. Default: false. */
  readonly offline?: boolean | undefined;
}

/** A change of the state of a registration. There are no events for further attempts in the same state. */
export type RegistrationEvent = { readonly type: "registered" } | { readonly type: "failed"; readonly error: RpcError };

/** An instance that is kept registered until it is closed. */
export interface Registration {
  /** Resolves when the instance is registered for the first time. Rejects if the registration is closed before. */
  readonly ready: Promise<void>;
  /**
   * The state: not yet registered, registered (also while the registry cannot be reached later) or taken offline, as the registry
   * has confirmed it, or closed.
   */
  readonly status: () => "pending" | "registered" | "offline" | "closed";
  /** Returns the states of the instance whose services consumers may ask for, the current one last. Default: the services never change. */
  readonly states?: () => readonly Instance[];
  /** Changes the weight or the attributes, or takes the instance offline or online. Resolves when the registry has confirmed it. */
  readonly update: (change: Pick<Instance, "weight" | "attributes" | "offline">) => Promise<void>;
  /**
   * Removes the instance. Resolves when the registry has confirmed it, or after `graceMs` milliseconds (default 5,000).
   * Never rejects.
   */
  readonly close: (options?: { readonly graceMs?: number | undefined }) => Promise<void>;
}

/** Connection to a registry, which transports and servers share. Close it after them. */
export interface Registry {
  /**
   * Makes the resolver of a service's endpoints. `open` connects to an instance at an address, to ask it which services it
   * has. Default: instances are not asked, and each is assumed to have the services of its application.
   */
  readonly resolver: (
    key: ServiceKey,
    options?: { readonly open?: ((address: string) => InstanceConnection) | undefined },
  ) => Resolver & {
    /** Restricts the endpoints that a policy chooses from, as traffic rules do. Default: all endpoints. */
    readonly route?: (policy: Balancer) => RoutedBalancer;
    /**
     * Returns what the registry sets now in place of a service config, and `defaults` where that sets nothing: the timeout of calls
     * that have none, and the number of attempts after the first. Default: nothing.
     */
    readonly overrides?: (method: Method) =>
      | {
          readonly timeoutMs?: number | undefined;
          readonly retries?: number | undefined;
          readonly defaults?: { readonly timeoutMs?: number | undefined; readonly retries?: number | undefined };
        }
      | undefined;
  };
  /** Keeps an instance registered, through each loss of the registry, until the registration is closed. Throws after `close`. */
  readonly register: (instance: Instance, onEvent?: (event: RegistrationEvent) => void) => Registration;
  /** Removes all instances that are registered by this connection, and disconnects. Never rejects. */
  readonly close: () => Promise<void>;
}
