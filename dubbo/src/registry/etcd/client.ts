/**
 * The client of an etcd cluster: stubs that our plugin has generated from etcd's API, on one connection, and the token of a
 * user.
 */
import { type ClosableTransport, Code, type Interceptor, RpcError } from "triple-es";
import {
  type AuthClient,
  createAuthClient,
  createKVClient,
  createLeaseClient,
  createWatchClient,
  type KVClient,
  type LeaseClient,
  type WatchClient,
} from "../../gen/etcd/rpc_triple.ts";
import type { Credentials } from "../servers.ts";

/** Time limit of a request, in milliseconds. */
export const ETCD_TIMEOUT_MS = 5_000;

/** The services of a cluster that a registry calls. */
export interface EtcdClient {
  readonly kv: KVClient;
  readonly watch: WatchClient;
  readonly lease: LeaseClient;
  readonly close: () => Promise<void>;
}

/** Makes a client. `connect` makes a transport to the cluster with an interceptor. */
export function createEtcdClient(
  connect: (interceptors: readonly Interceptor[]) => ClosableTransport,
  credentials: Credentials | undefined,
): EtcdClient {
  const transport: ClosableTransport = connect(
    credentials === undefined ? [] : [withToken(() => createAuthClient(transport), credentials)],
  );
  const defaults = { timeoutMs: ETCD_TIMEOUT_MS };
  return {
    kv: createKVClient(transport, defaults),
    watch: createWatchClient(transport),
    lease: createLeaseClient(transport),
    close: () => transport.close({ graceMs: 0 }),
  };
}

/** Sends the token of a user with every call. A token that the cluster does not accept any more is replaced. */
function withToken(auth: () => AuthClient, credentials: Credentials): Interceptor {
  let token: Promise<string> | undefined;

  async function authenticate(): Promise<string> {
    const { username: name, password } = credentials;
    return (await auth().authenticate({ name, password }, { timeoutMs: ETCD_TIMEOUT_MS })).token;
  }

  function forget(used: Promise<string>): void {
    if (token === used) token = undefined;
  }

  return (next) => async (request) => {
    if (request.method.name === "Authenticate") return next(request);
    for (let attempts = 1; ; attempts++) {
      token ??= authenticate();
      const used = token;
      used.catch(() => forget(used));
      request.headers.set("token", await used);
      try {
        return await next(request);
      } catch (reason) {
        if (RpcError.from(reason).code !== Code.Unauthenticated) throw reason;
        forget(used);
        if (request.stream || attempts > 1) throw reason;
      }
    }
  };
}
