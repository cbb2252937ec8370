/**
 * Connections to all services of a registry. A service with its group and version is a target of its own; targets share the
 * connections to an address that serves several of them.
 */
import type { Selector } from "../../call/call.ts";
import type { RpcError } from "../../call/error.ts";
import type { ConnectEndpoint, EndpointConnections, Resolver } from "../../discovery/endpoint.ts";
import type { Registry } from "../../discovery/registry.ts";
import { formatServiceKey, readSelector } from "../../protocol/selector.ts";
import type { TargetConnections } from "./target-connector.ts";
import type { RegistryTransportOptions } from "./transport-options.ts";

/** Creates a connector for the services of a registry. `createTarget` makes the connector of one service. */
export function createRegistryConnector(
  registry: Registry,
  { javaNames, ...options }: Parameters<Registry["resolver"]>[1] & Pick<RegistryTransportOptions, "javaNames">,
  createTarget: (resolver: Resolver, name: string) => TargetConnections,
): Omit<TargetConnections, "serviceConfig"> {
  const targets = new Map<string, TargetConnections>();
  let isPlain = false;
  let destroyed: RpcError | undefined;

  function targetOf(service: string, { group = "", version = "" }: Selector): TargetConnections {
    const name = formatServiceKey({ service, group, version });
    const known = targets.get(name);
    if (known !== undefined) return known;
    const resolver = registry.resolver({ service, group, version }, options);
    isPlain = resolver.overrides === undefined;
    const target = createTarget(resolver, name);
    targets.set(name, target);
    if (destroyed !== undefined) target.destroy(destroyed);
    return target;
  }

  return {
    exchange: (request) => {
      const { path, headers } = request;
      return targetOf(path.slice(1, path.indexOf("/", 1)), readSelector(headers)).exchange(request);
    },
    overridesOf: (request) => {
      if (isPlain) return undefined;
      const { alias, service } = request.method;
      return targetOf((javaNames && alias?.service) || service, request.selector).overridesOf(request);
    },
    state: () => ({
      target: "registry",
      subchannels: [...targets.values()].flatMap((target) => target.state?.()?.subchannels ?? []),
    }),
    endpoints: () => [...targets.values()].flatMap((target) => target.endpoints()),
    close: async () => {
      await Promise.all([...targets.values()].map((target) => target.close()));
    },
    destroy: (reason) => {
      destroyed = reason;
      for (const target of targets.values()) target.destroy(reason);
    },
  };
}

/** Connections to an address, and those who use them. */
interface Shared {
  readonly connections: EndpointConnections;
  readonly listeners: Set<(isReady: boolean) => void>;
}

/** Makes connections that are shared by address. They are closed when their last user has released them. */
export function shareConnections(connect: ConnectEndpoint): ConnectEndpoint {
  const byAddress = new Map<string, Shared>();
  return (endpoint, onReadiness) => {
    const { address } = endpoint;
    const listeners = byAddress.get(address)?.listeners ?? new Set<(isReady: boolean) => void>();
    const shared: Shared = byAddress.get(address) ?? {
      listeners,
      connections: connect(endpoint, (isReady) => {
        for (const listener of [...listeners]) listener(isReady);
      }),
    };
    byAddress.set(address, shared);
    const { connections } = shared;
    listeners.add(onReadiness);

    /** Ends this use. Returns true if it was the last one. */
    const release = (): boolean => {
      const wasUsed = listeners.delete(onReadiness);
      if (!wasUsed || listeners.size > 0) return false;
      if (byAddress.get(address) === shared) byAddress.delete(address);
      return true;
    };
    return {
      state: () => connections.state?.(),
      observed: (observer) => connections.observed(observer),
      get active() {
        return connections.active;
      },
      get backoffMs() {
        return connections.backoffMs;
      },
      connect: () => connections.connect(),
      check: () => connections.check(),
      close: async () => {
        if (release()) await connections.close();
      },
      destroy: (reason: RpcError) => {
        release();
        // Also after close, whose streams may have exceeded the grace period.
        if (listeners.size === 0) connections.destroy(reason);
      },
    };
  };
}
