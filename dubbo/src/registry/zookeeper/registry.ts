/**
 * The registry in ZooKeeper.
 */
import type { Registry } from "triple-es/discovery";
import { wallClock } from "triple-es/internal";
import { checkRegistry } from "../dubbo/resolver.ts";
import { writeCuratorInstance } from "../dubbo/service-instance.ts";
import { checkInteger } from "../servers.ts";
import { createTreeRegistry, type TreeOptions } from "../tree.ts";
import { ZooKeeperClient } from "./client.ts";
import { createZooKeeperTree } from "./tree.ts";

export interface ZooKeeperOptions extends TreeOptions {
  /**
   * Time in milliseconds for which a session survives without a connection. Instances of a process that ends without
   * closing its registration stay registered for this time. Servers limit it, by default to between 4 s and 40 s. Default:
   * 15,000.
   */
  readonly sessionTimeoutMs?: number | undefined;
}

/**
 * Connects to a registry in ZooKeeper 3.5 or later, at first use. Close it when it is no longer needed. Throws a
 * `TypeError` or `RangeError` for an invalid option.
 */
export function zookeeper(options: ZooKeeperOptions): Registry {
  const own = ["root", "servicesRoot", "connectTimeoutMs", "sessionTimeoutMs"];
  const servers = checkRegistry("zookeeper", options, 2181, own);
  const { auth, tls } = options;
  if (auth?.username.includes(":")) throw new TypeError(`the username of zookeeper must not contain ":"`);
  const client = new ZooKeeperClient({
    servers,
    tls,
    auth: auth && { scheme: "digest", credentials: `${auth.username}:${auth.password}` },
    sessionTimeoutMs: checkInteger("sessionTimeoutMs", options.sessionTimeoutMs ?? 15_000, 100, 3_600_000),
    connectTimeoutMs: checkInteger("connectTimeoutMs", options.connectTimeoutMs ?? 5_000, 1, 600_000),
  });
  const tree = createZooKeeperTree(client, auth !== undefined);
  const registeredAt = wallClock();
  return createTreeRegistry(tree, (instance) => writeCuratorInstance(instance, registeredAt), options);
}
