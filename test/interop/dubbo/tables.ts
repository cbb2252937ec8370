/** The tables of the matrix: the connected programs, and the cases that are run. */
import type { Credentials, Target } from "../peer.ts";
import type { Running } from "../program.ts";
import { caseNames } from "./cases.ts";
import { genericCaseNames } from "./generic-cases.ts";
import { bodyCaseNames, httpRpcCaseNames, runHttpRpcCases } from "./http-rpc.ts";
import type { Column, Outcomes, Table } from "./matrix.ts";
import type { DubboPeer } from "./peer.ts";
import { runGenericCases, runPlainCases, startPlainServer } from "./plain.ts";
import { plainCaseNames } from "./plain-cases.ts";
import { runTripleCases, startTripleServer } from "./triple.ts";
import { UNSUPPORTED, UNSUPPORTED_BODIES, UNSUPPORTED_GENERIC, UNSUPPORTED_WITHOUT_IDL } from "./unsupported.ts";

const WAYS = ["cleartext", "TLS"];
const HTTP_VERSIONS = ["1.1", "2"] as const;
const HTTP_WAYS = HTTP_VERSIONS.map((version) => `HTTP/${version}`);

/** A column before its unsupported cases are added. */
type Plan = Omit<Column, "unsupported">;

/** Returns all tables with the columns of these peers. */
export function tablesOf(peers: readonly DubboPeer[], credentials: Credentials): Table[] {
  const both = [undefined, credentials];
  return [
    { title: "gRPC with proto files", cases: caseNames, columns: grpc(peers, both).map(withReasons(UNSUPPORTED)) },
    {
      title: "HTTP RPC with proto files",
      cases: httpRpcCaseNames,
      columns: httpRpc(peers).map(withReasons(UNSUPPORTED)),
    },
    {
      title: "Interfaces without proto files",
      cases: plainCaseNames,
      columns: withoutIdl(peers, both).map(withReasons(UNSUPPORTED_WITHOUT_IDL)),
    },
    {
      title: "Generic calls",
      cases: genericCaseNames,
      columns: generic(peers, both).map(withReasons(UNSUPPORTED_GENERIC)),
    },
    {
      title: "Other bodies over HTTP RPC, without proto files",
      cases: bodyCaseNames,
      columns: otherBodies(peers).map(withReasons(UNSUPPORTED_BODIES)),
    },
  ];
}

function grpc(peers: readonly DubboPeer[], both: readonly (Credentials | undefined)[]): Plan[] {
  return peers.flatMap((peer): Plan[] => [
    {
      title: `us → ${peer.name}`,
      ways: WAYS,
      run: () =>
        inTurn(both, (own) => during(peer.startServer(own), own, (target) => runTripleCases(caseNames, target, peer))),
    },
    {
      title: `${peer.name} → us`,
      ways: WAYS,
      run: () =>
        inTurn(both, async (own) => {
          const starting = startTripleServer(own);
          const outcomes = await during(starting, own, peer.runClient);
          return new Map([...outcomes, ...(await starting).outcomes()]);
        }),
    },
  ]);
}

function httpRpc(peers: readonly DubboPeer[]): Plan[] {
  const calling = peers
    .filter(({ httpRpc: has }) => has)
    .map(
      (peer): Plan => ({
        title: `us → ${peer.name} (HTTP RPC)`,
        ways: HTTP_WAYS,
        run: () =>
          inTurn(HTTP_VERSIONS, (httpVersion) =>
            during(peer.startHttpServer?.() ?? peer.startServer(undefined), undefined, (target) =>
              runHttpRpcCases(target, { httpVersion, javaNames: peer.javaNames }),
            ),
          ),
      }),
    );
  const called = peers.flatMap(({ name, runHttpClient }): Plan[] =>
    runHttpClient === undefined
      ? []
      : [
          {
            title: `${name} → us (HTTP RPC)`,
            ways: [""],
            run: () =>
              inTurn([undefined], (own) => during(startTripleServer(own), own, ({ port }) => runHttpClient(port))),
          },
        ],
  );
  return [...calling, ...called];
}

function withoutIdl(peers: readonly DubboPeer[], both: readonly (Credentials | undefined)[]): Plan[] {
  return peers.flatMap((peer): Plan[] => {
    if (peer.runPlainClient === undefined) return [];
    const overGrpc = bothDirections(peer, both, runPlainCases, peer.runPlainClient);
    const overHttpRpc: Plan = {
      title: `us → ${peer.name} (HTTP RPC)`,
      ways: HTTP_WAYS,
      run: () =>
        inTurn(HTTP_VERSIONS, (httpVersion) =>
          during(peer.startServer(undefined), undefined, (target) =>
            runPlainCases(target, peer.alpn, {
              ...{ protocol: "http-rpc", httpVersion, jsonBody: "object" },
              // A Java server may lose the head of a response over HTTP/1.1 if the request before is hardly over (docs/interop.md).
              idleTimeoutMs: httpVersion === "1.1" ? 0 : undefined,
            }),
          ),
        ),
    };
    return peer.plainHttpRpc ? [...overGrpc, overHttpRpc] : overGrpc;
  });
}

function generic(peers: readonly DubboPeer[], both: readonly (Credentials | undefined)[]): Plan[] {
  return peers.flatMap((peer) => {
    const call = (target: Target, alpn: boolean): Promise<Outcomes> => runGenericCases(target, alpn, peer.fatalCases);
    return peer.runGenericClient === undefined ? [] : bothDirections(peer, both, call, peer.runGenericClient);
  });
}

/** Calls over gRPC to and from a peer, of the service without a proto file. */
function bothDirections(
  peer: DubboPeer,
  both: readonly (Credentials | undefined)[],
  call: (target: Target, alpn: boolean) => Promise<Outcomes>,
  callUs: (target: Target) => Promise<Outcomes>,
): Plan[] {
  return [
    {
      title: `us → ${peer.name}`,
      ways: WAYS,
      run: () => inTurn(both, (own) => during(peer.startServer(own), own, (target) => call(target, peer.alpn))),
    },
    {
      title: `${peer.name} → us`,
      ways: WAYS,
      run: () => inTurn(both, (own) => during(startPlainServer(own), own, callUs)),
    },
  ];
}

/** The requests of an HTTP client to triple-es, and to the peer's own server for comparison. */
function otherBodies(peers: readonly DubboPeer[]): Plan[] {
  return peers.flatMap((peer): Plan[] => {
    const { name, runHttpBodies: run } = peer;
    if (run === undefined) return [];
    const plan = (title: string, start: () => Promise<Running>): Plan => ({
      title,
      ways: [""],
      run: async () => [await during(start(), undefined, ({ port }) => run(port))],
    });
    return [
      plan("HTTP client → us", () => startPlainServer(undefined)),
      plan(`HTTP client → ${name}`, () => peer.startServer(undefined)),
    ];
  });
}

async function inTurn<T>(items: readonly T[], run: (item: T) => Promise<Outcomes>): Promise<Outcomes[]> {
  const outcomes: Outcomes[] = [];
  for (const item of items) outcomes.push(await run(item));
  return outcomes;
}

/** Starts a server, runs the work and stops the server. */
async function during(
  starting: Promise<Running>,
  credentials: Credentials | undefined,
  run: (target: Target) => Promise<Outcomes>,
): Promise<Outcomes> {
  const server = await starting;
  try {
    return await run({ port: server.port, credentials });
  } finally {
    await server.stop();
  }
}

const withReasons =
  (unsupported: Readonly<Record<string, Column["unsupported"]>>) =>
  (plan: Plan): Column => ({ ...plan, unsupported: unsupported[plan.title] ?? {} });
