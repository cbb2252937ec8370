/**
 * The registry in etcd. dubbo-go writes and reads the same keys; Dubbo for Java 3 has no registry in etcd.
 */
import { fixed, pickFirst, type Registry } from "triple-es/discovery";
import { formatAddress } from "triple-es/internal";
import { createTransport } from "triple-es/node";
import { checkRegistry } from "../dubbo/resolver.ts";
import { writeGoInstance } from "../dubbo/service-instance.ts";
import { checkInteger } from "../servers.ts";
import { createTreeRegistry, type TreeOptions } from "../tree.ts";
import { EtcdClient } from "./client.ts";
import { createEtcdTree } from "./tree.ts";

export interface EtcdOptions extends TreeOptions {
  /** The name in the certificates of the members. Default: the host of each address. */
  readonly authority?: string | undefined;
  /**
   * Time in milliseconds for which instances stay registered after their process has ended without closing its
   * registration. It is rounded up to seconds, and etcd has a minimum of its own. Default: 15,000.
   */
  readonly ttlMs?: number | undefined;
}

/** The largest message, in bytes: a page of instances, or many changes at once. */
const MAX_ETCD_MESSAGE_BYTES = 64 * 1024 * 1024;
/** Interval of PINGs on the connection, in milliseconds: etcd refuses more than one in 5 s. */
const PING_INTERVAL_MS = 10_000;

/**
 * Connects to a registry in etcd 3.4 or later, at first use. Close it when it is no longer needed. Throws a `TypeError` or
 * `RangeError` for an invalid option.
 */
export function etcd(options: EtcdOptions): Registry {
  const own = ["root", "servicesRoot", "connectTimeoutMs", "ttlMs", "authority"];
  const servers = checkRegistry("etcd", options, 2379, own).map(({ host, port }) => formatAddress(host, port));
  const { auth, tls, authority } = options;
  const ttlMs = checkInteger("ttlMs", options.ttlMs ?? 15_000, 1_000, 86_400_000);
  const connectTimeoutMs = checkInteger("connectTimeoutMs", options.connectTimeoutMs ?? 5_000, 1, 600_000);
  const client = new EtcdClient(
    (interceptors) =>
      createTransport({
        resolver: fixed(servers),
        balancer: pickFirst(),
        authority,
        tls,
        interceptors,
        connectTimeoutMs,
        maxBackoffMs: 1_000,
        maxConnections: 1,
        maxMessageBytes: MAX_ETCD_MESSAGE_BYTES,
        pingIntervalMs: PING_INTERVAL_MS,
        ejection: { failures: 0 },
      }),
    auth,
  );
  return createTreeRegistry(createEtcdTree(client, ttlMs), writeGoInstance, options);
}
