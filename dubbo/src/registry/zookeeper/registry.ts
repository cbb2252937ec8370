/**
 * The registry in ZooKeeper.
 */
import type { Registry } from "triple-es/discovery";
import { wallClock } from "triple-es/internal";
import type { ClientTlsOptions } from "triple-es/node";
import { writeCuratorInstance } from "../dubbo/service-instance.ts";
import { checkCredentials, checkInteger, parseServers } from "../servers.ts";
import { createTreeRegistry, type DubboOptions } from "../tree.ts";
import { ZooKeeperClient } from "./client.ts";
import { createZooKeeperTree } from "./tree.ts";

export interface ZooKeeperOptions extends DubboOptions {
  /** The servers of the ensemble, each `host:port`. */
  readonly servers: readonly string[];
  /**
   * User and password for the scheme `digest`. The nodes that are created are then accessible with the same credentials
   * only. Default: none, and every client may change the nodes.
   */
  readonly auth?: { readonly username: string; readonly password: string } | undefined;
  /** Encrypts connections, for the servers' `secureClientPort`. Default: no TLS. */
  readonly tls?: ClientTlsOptions | undefined;
  /**
   * Time in milliseconds for which a session survives without a connection. Instances of a process that ends without
   * closing its registration stay registered for this time. Servers limit it, by default to between 4 s and 40 s. Default:
   * 15,000.
   */
  readonly sessionTimeoutMs?: number | undefined;
  /** Time limit for connecting to a server, in milliseconds. Default: 5,000. */
  readonly connectTimeoutMs?: number | undefined;
}

/**
 * Connects to a registry in ZooKeeper 3.5 or later, at first use. Close it when it is no longer needed. Throws a
 * `TypeError` or `RangeError` for an invalid option.
 */
export function zookeeper(options: ZooKeeperOptions): Registry {
  const { servers, auth, tls } = options;
  checkCredentials("zookeeper", auth);
  if (auth?.username.includes(":")) throw new TypeError(`the username of zookeeper must not contain ":"`);
  const addresses = parseServers("zookeeper", servers, 2181);
  const client = new ZooKeeperClient({
    servers: addresses,
    tls,
    auth: auth && { scheme: "digest", credentials: `${auth.username}:${auth.password}` },
    sessionTimeoutMs: checkInteger("sessionTimeoutMs", options.sessionTimeoutMs ?? 15_000, 100, 3_600_000),
    connectTimeoutMs: checkInteger("connectTimeoutMs", options.connectTimeoutMs ?? 5_000, 1, 600_000),
  });
  const tree = createZooKeeperTree(client, auth !== undefined);
  const registeredAt = wallClock();
  return createTreeRegistry(tree, (instance) => writeCuratorInstance(instance, registeredAt), options);
}
