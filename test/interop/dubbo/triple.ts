/**
 * Our own half of the matrix: the service on our server, and clients of ours for the cases.
 */
import { type Compression, createClient } from "triple-es";
import { addHealth } from "triple-es/health";
import { createServer, createTransport, gzip } from "triple-es/node";
import { type Credentials, failureOf, type Target } from "../peer.ts";
import type { Running } from "../program.ts";
import { type CaseName, caseNames, cases } from "./cases.ts";
import { createPeerServiceClient, PeerServiceDef } from "./gen/interop/v1/peer_triple.ts";
import { createPeerService } from "./service.ts";

/** The cases in both directions: those of our client, and one that only clients of peers have. */
export const clientCaseNames: readonly string[] = [...caseNames, "health_watch"];

/** Starts the service on our server, once without group and version, once with both. */
export async function startTripleServer(credentials: Credentials | undefined): Promise<Running> {
  const server = createServer({
    compressMinBytes: 0,
    tls: credentials === undefined ? undefined : { cert: credentials.cert, key: credentials.key },
  });
  server.add(PeerServiceDef, createPeerService());
  server.add(PeerServiceDef, createPeerService("blue/1.2.3"), { group: "blue", version: "1.2.3" });
  // All that clients of dubbo-go expect beside the service.
  addHealth(server);
  await server.listen({ port: 0, host: "127.0.0.1" });
  return { port: server.address.port, stop: () => server.close({ graceMs: 0 }) };
}

/** Runs cases with our client; tells what went wrong with each. */
export async function runTripleCases(
  names: readonly CaseName[],
  { port, credentials }: Target,
): Promise<Map<CaseName, string | undefined>> {
  const counts = { compressed: 0, inflated: 0 };
  const counting: Compression = {
    name: gzip.name,
    compress: (bytes) => {
      counts.compressed++;
      return gzip.compress(bytes);
    },
    decompress: (bytes, maxBytes) => {
      counts.inflated++;
      return gzip.decompress(bytes, maxBytes);
    },
  };
  const open = (compression?: string) =>
    createTransport({
      baseUrl: `${credentials === undefined ? "http" : "https"}://127.0.0.1:${port}`,
      compressions: [counting],
      compression,
      compressMinBytes: 0,
      tls: credentials === undefined ? undefined : { ca: credentials.ca, servername: credentials.servername },
    });
  const [plain, compressing] = [open(), open("gzip")];
  const subject = {
    client: createPeerServiceClient(plain),
    select: (group: string, version: string) => createPeerServiceClient(plain, { group, version }),
    compressing: createPeerServiceClient(compressing),
    compressions: counts,
    unknown: createClient(unknownService(), plain),
  };
  try {
    const outcomes = new Map<CaseName, string | undefined>();
    for (const name of names) outcomes.set(name, await failureOf(cases[name](subject)));
    return outcomes;
  } finally {
    await Promise.all([plain.close(), compressing.close()]);
  }
}

/** The service under a name that no peer has. */
function unknownService(): typeof PeerServiceDef {
  const methods = Object.entries(PeerServiceDef.methods).map(([key, method]) => [
    key,
    { ...method, service: "interop.v1.Missing", path: `/interop.v1.Missing/${method.name}` },
  ]);
  return { ...PeerServiceDef, typeName: "interop.v1.Missing", methods: Object.fromEntries(methods) };
}
