/** triple-es in the matrix: the service on its server, and its clients for the cases. */
import { type Compression, createClient, type Interceptor } from "triple-es";
import { addHealth } from "triple-es/health";
import { createServer, createTransport, gzip } from "triple-es/node";
import { createHealthClient } from "../../../runtime/src/gen/grpc/health/v1/health_triple.ts";
import { type Credentials, failureOf, type Target } from "../peer.ts";
import type { Running } from "../program.ts";
import { type CaseName, cases } from "./cases.ts";
import { createPeerServiceClient, PeerServiceDef } from "./gen/interop/v1/peer_triple.ts";
import { clientTls } from "./peer.ts";
import { createPeerService } from "./service.ts";

/** Time limit of a call. A longer call has failed, and must not keep its transport open. */
const CALL_TIMEOUT_MS = 10_000;

/**
 * Dubbo for Java leaves a response in its buffer if another call of the connection is reset at the same moment, until
 * further data arrives: docs/interop.md.
 */
const PING_INTERVAL_MS = 500;

/** gzip with counters. */
class CountingGzip implements Compression {
  readonly name = gzip.name;
  compressed = 0;
  inflated = 0;

  compress(bytes: Uint8Array): ReturnType<Compression["compress"]> {
    this.compressed++;
    return gzip.compress(bytes);
  }
  decompress(bytes: Uint8Array, maxBytes: number): ReturnType<Compression["decompress"]> {
    this.inflated++;
    return gzip.decompress(bytes, maxBytes);
  }
}

/** The server of triple-es, and its observations of clients that do not report them. */
export interface TripleServer extends Running {
  /** Problems with the cases that only a server can judge. Clients must have run all of their cases. */
  outcomes(): ReadonlyMap<CaseName, string | undefined>;
}

/** Starts the service on the server of triple-es, once without group and version, once with both. */
export async function startTripleServer(credentials: Credentials | undefined): Promise<TripleServer> {
  const counting = new CountingGzip();
  let watches = 0;
  const countWatches: Interceptor = (next) => (request) => {
    if (request.method.path === "/grpc.health.v1.Health/Watch") watches++;
    return next(request);
  };
  const server = createServer({
    interceptors: [countWatches],
    compressions: [counting],
    compressMinBytes: 0,
    tls: credentials === undefined ? undefined : { cert: credentials.cert, key: credentials.key },
  });
  server.add(PeerServiceDef, createPeerService());
  server.add(PeerServiceDef, createPeerService("blue/1.2.3"), { group: "blue", version: "1.2.3" });
  // The additional services that clients of dubbo-go expect.
  addHealth(server);
  await server.listen({ port: 0, host: "127.0.0.1" });
  return {
    port: server.address.port,
    stop: () => server.close({ graceMs: 0 }),
    outcomes: () =>
      new Map<CaseName, string | undefined>([
        ["gzip_responses", counting.compressed > 0 ? undefined : "the client did not ask for compressed responses"],
        ["health", watches > 0 ? undefined : "the client did not watch the health of the server"],
      ]),
  };
}

/**
 * Runs cases with the client of triple-es. Returns the error of each. `javaNames`: the server has several groups and
 * versions of the service under its Java name only.
 */
export async function runTripleCases(
  names: readonly CaseName[],
  { port, credentials }: Target,
  { javaNames = false, alpn = true }: { readonly javaNames?: boolean; readonly alpn?: boolean } = {},
): Promise<Map<CaseName, string | undefined>> {
  const counting = new CountingGzip();
  const open = (options: { readonly compression?: string; readonly javaNames?: boolean } = {}) =>
    createTransport({
      baseUrl: `${credentials === undefined ? "http" : "https"}://127.0.0.1:${port}`,
      compressions: [counting],
      ...options,
      compressMinBytes: 0,
      pingIntervalMs: PING_INTERVAL_MS,
      tls: credentials === undefined ? undefined : clientTls(credentials, alpn),
    });
  const [plain, compressing, javaNamed] = [open(), open({ compression: "gzip" }), open({ javaNames: true })];
  const timeoutMs = CALL_TIMEOUT_MS;
  const subject = {
    client: createPeerServiceClient(plain, { timeoutMs }),
    select: (group?: string, version?: string) =>
      createPeerServiceClient(javaNames ? javaNamed : plain, { group, version, timeoutMs }),
    compressing: createPeerServiceClient(compressing, { timeoutMs }),
    compressions: counting,
    unknown: createClient(unknownService(), plain, { timeoutMs }),
    health: createHealthClient(plain, { timeoutMs }),
  };
  try {
    const outcomes = new Map<CaseName, string | undefined>();
    for (const name of names) outcomes.set(name, await failureOf(cases[name](subject)));
    return outcomes;
  } finally {
    await Promise.all([plain.close(), compressing.close(), javaNamed.close()]);
  }
}

/** The service under a name that peers do not have. */
function unknownService(): typeof PeerServiceDef {
  const methods = Object.entries(PeerServiceDef.methods).map(([key, method]) => [
    key,
    { ...method, service: "interop.v1.Missing", path: `/interop.v1.Missing/${method.name}` },
  ]);
  return { ...PeerServiceDef, typeName: "interop.v1.Missing", methods: Object.fromEntries(methods) };
}
