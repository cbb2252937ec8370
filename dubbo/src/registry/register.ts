/**
 * Registration of a server: mounts MetadataServiceV2, keeps the server in the registry, and removes it before the server
 * drains or goes offline, so that consumers choose other servers while this one still answers.
 */
import { type AddressInfo, isIP } from "node:net";
import type { AddedService, Router } from "triple-es";
import type { Instance, OfferedService, Registration, RegistrationEvent, Registry } from "triple-es/discovery";
import {
  assertAmount,
  assertFunctions,
  assertMembers,
  assertOneOf,
  delay,
  delayInBackground,
  wallClock,
} from "triple-es/internal";
import { checkAttributes } from "./dubbo/attributes.ts";
import { checkApplicationName } from "./dubbo/service-key.ts";
import { LEVELS } from "./dubbo/source.ts";
import { serveMetadata } from "./metadata-service.ts";
import { checkInteger, externalHost, MAX_PORT } from "./servers.ts";

/** The parts of a server that registration needs. */
export interface RegisteredServer extends Router {
  /** The address that the server listens on. */
  readonly address: AddressInfo;
  /** Registers a callback for the beginning of the shutdown. The server accepts calls until it has settled. */
  readonly onClose: (callback: () => unknown) => void;
  /** Lets clients connect again, by GOAWAY over HTTP/2. */
  readonly drainConnections: () => void;
}

/** The registration of a server. */
export interface ServerRegistration extends Registration {
  /** The instance as it was registered first. */
  readonly instance: Instance;
}

/** Options of {@link register}. */
export interface RegisterOptions {
  /** The name of the application. Consumers find its instances by it. */
  readonly application: string;
  /**
   * The host that consumers connect to. Default: the address that the server listens on; if it listens on all addresses,
   * the first IPv4 address of this machine that is not a loopback address.
   */
  readonly host?: string | undefined;
  /** The port that consumers connect to, such as that of a container's host. Default: the server's. */
  readonly port?: number | undefined;
  /** Share of calls relative to other instances, from 0 to 1,000,000. Default: 100. */
  readonly weight?: number | undefined;
  /**
   * True if consumers increase this instance's share of calls from its registration on: for 10 minutes in Dubbo and here by
   * default. Default: true.
   */
  readonly warmUp?: boolean | undefined;
  /** Other attributes for consumers, such as `dubbo.tag`. Default: none. */
  readonly attributes?: Readonly<Record<string, string>> | undefined;
  /**
   * The entries to write: at the application level (`instance`), at the interface level (`interface`), which consumers before
   * Dubbo 3.3 need, or at both (`all`), as Dubbo for Java does. Default: `all`.
   */
  readonly mode?: Instance["mode"];
  /**
   * Time in milliseconds for which a closing server still accepts calls after it was removed from the registry, so that
   * all consumers know it. It ends after half of the grace period of `close` at the latest. A server that goes offline sends
   * GOAWAY after this time. Default: 1,000.
   */
  readonly propagationMs?: number | undefined;
  /**
   * Called when the server is registered, when its registration fails, and when definitions of its services cannot be stored.
   * Default: none.
   */
  readonly onRegistration?: ((event: RegistrationEvent) => void) | undefined;
}

const OPTIONS = "application host port weight warmUp attributes mode propagationMs onRegistration".split(" ");

const MAX_WEIGHT = 1_000_000;

/** Services that every server may have and that consumers do not look up in a registry. */
const UNREGISTERED_SERVICES =
  /^(?:grpc\.(?:channelz|health|reflection)\.|org\.apache\.dubbo\.metadata\.|xds\.service\.orca\.v3\.)/;

/**
 * Registers a server that listens, with the services that it has now, except health, load, reflection, channelz and metadata. A
 * service whose code was generated with `java_names` is also registered by the name of its interface in Java. Registration goes
 * on in the background, through each loss of the registry, until it is closed or the server begins to close: then the instance is
 * removed first, and the server accepts calls for another `propagationMs`.
 *
 * `update({ offline: true })` removes the instance while the server lives on: `propagationMs` later its clients have to connect
 * again, and those with a registry turn to other servers. `update({ offline: false })` registers it again.
 *
 * Throws a `TypeError` or `RangeError` for an invalid option, and an `Error` if it listens on no port or the registry is closed.
 */
export function register(server: RegisteredServer, registry: Registry, options: RegisterOptions): ServerRegistration {
  const { application, weight = 100, attributes, mode = "all", propagationMs = 1_000, warmUp = true } = options;
  assertMembers("the options of register", options, OPTIONS);
  checkApplicationName(application);
  checkAttributes(attributes);
  checkInteger("weight", weight, 0, MAX_WEIGHT);
  assertOneOf("mode", mode, LEVELS);
  assertOneOf("warmUp", warmUp, [true, false]);
  assertAmount("propagationMs", propagationMs);
  assertFunctions({ onRegistration: options.onRegistration });
  const { address } = server;
  const services = server.services.flatMap(offeredService);
  if (services.length === 0) throw new TypeError("register needs a server with services: add them first");
  const instance: Instance = {
    application,
    host: options.host === undefined ? advertisedHost(address.address) : checkHost(options.host),
    port: checkInteger("port", options.port ?? address.port, 1, MAX_PORT),
    services,
    weight,
    since: warmUp ? wallClock() : undefined,
    attributes,
    mode,
  };
  const described = mode === "interface" ? undefined : serveMetadata(server, application);
  const registration = registry.register(instance, options.onRegistration);
  described?.add(registration.states ?? (() => [instance]));
  server.onClose(async () => {
    await registration.close();
    if (propagationMs > 0) await delay(propagationMs);
  });
  /** The last change between online and offline. */
  let last = { offline: false };
  async function leaveClients(confirmed: Promise<void>, change: typeof last): Promise<void> {
    await confirmed;
    await delayInBackground(propagationMs);
    if (last === change) server.drainConnections();
  }
  return {
    instance,
    ready: registration.ready,
    status: registration.status,
    close: registration.close,
    update(change) {
      checkAttributes(change.attributes);
      checkInteger("weight", change.weight ?? weight, 0, MAX_WEIGHT);
      const { offline = last.offline } = change;
      assertOneOf("offline", offline, [true, false]);
      const confirmed = registration.update(change);
      if (offline !== last.offline) {
        last = { offline };
        if (offline) leaveClients(confirmed, last).catch(() => {});
      }
      return confirmed;
    },
  };
}

function offeredService({ service, selector: { group, version } }: AddedService): OfferedService[] {
  if (UNREGISTERED_SERVICES.test(service.typeName)) return [];
  const methods = Object.values(service.methods);
  const isInterface = methods.some(({ payload }) => payload !== undefined);
  // Consumers in Java take the first serialization that they know. Methods with a proto file need none.
  const parameters = isInterface ? { "prefer.serialization": "hessian2" } : undefined;
  const named: OfferedService = { service: service.typeName, group, version, parameters, methods };
  // Consumers in Java look for the name of the interface.
  const aliases = new Set(methods.flatMap(({ alias }) => alias?.service ?? []));
  aliases.delete(service.typeName);
  return [named, ...[...aliases].map((alias) => ({ ...named, service: alias }))];
}

function checkHost(host: string): string {
  const bare = typeof host === "string" ? host.replace(/^\[(.*)\]$/, "$1") : "";
  if (isIP(bare) === 6 || /^[^\s:/?#@[\]&=]+$/.test(bare)) return bare;
  throw new TypeError(`host must be a name or an IP address, not ${JSON.stringify(host)}`);
}

/** Returns the address to register for one that the server listens on. */
function advertisedHost(listening: string): string {
  if (listening !== "0.0.0.0" && listening !== "::") return listening;
  const host = externalHost();
  if (host === undefined) throw new Error("this machine has no address for consumers: set the option host");
  return host;
}
