/** The contests: the compared implementations, the load, and the limit on the relative cost of triple-es. */
import { repeatCount, talkCount } from "../messages/echo.ts";
import type { Load } from "./load/load.ts";
import type { Recorder } from "./measurement.ts";
import type { Setup } from "./servers/setup.ts";

export interface Contest {
  readonly name: string;
  readonly title: string;
  /** The side whose CPU time is measured. Its entrants are in the folder with the plural of this name. */
  readonly subject: "server" | "client" | "codec";
  readonly load: Load;
  readonly entrants: readonly string[];
  /**
   * The server for clients, from the folder `servers`; `same`: each entrant uses its own server. Default: `http2-bytes`,
   * the cheapest.
   */
  readonly server?: string;
  /** The setup of servers. Default: `plain`. */
  readonly setup?: Setup;
  /** Goal: the maximum CPU cost of a message with triple-es, as a multiple of the cost with a peer. */
  readonly goals: Readonly<Record<string, number>>;
  /** A contest with a smaller load of the same kind, and the maximum cost of a call as a multiple of the cost there. */
  readonly growth?: { readonly from: string; readonly goal: number };
}

/** Several contests with their processes running. */
export interface Contests {
  /** Visits every entrant of every contest once. */
  round(record: Recorder): Promise<void>;
  stop(): Promise<void>;
}

/** The name of the entrant triple-es, with generated codecs. All other entrants are peers. */
export const ours = "triple";
/** triple-es without generated codecs. */
const plain = "triple-plain";

const grpcEntrants = ["http2-bytes", "http2-protobuf", "grpc-js", "connect-node", ours];

export const contests: readonly Contest[] = [
  ...codecContests("small", "100 bytes", "echo", { "protobuf-es": 0.25, protobufjs: 1 }),
  ...codecContests("mid", "an order of 1.7 kB", "order", { "protobuf-es": 0.38, protobufjs: 0.65 }),
  ...codecContests("words", "text", "words", { protobufjs: 1 }),
  ...codecContests("numbers", "integers", "numbers", { protobufjs: 1 }),
  ...codecContests("blobs", "bytes", "blobs", { protobufjs: 1 }),
  {
    name: "b-server-4x32",
    title: "B, server, 4 connections x 32 streams",
    subject: "server",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 4, inFlight: 32 },
    entrants: [...grpcEntrants, plain],
    goals: { "grpc-js": 0.11, "http2-bytes": 0.18, [plain]: 0.75 },
  },
  {
    name: "b-server-order",
    title: "B, server, orders of 1.7 kB, 4 connections x 32 streams",
    subject: "server",
    load: { protocol: "grpc", codec: "proto", method: "order", connections: 4, inFlight: 32 },
    entrants: ["grpc-js", plain, ours],
    goals: { "grpc-js": 0.25 },
  },
  {
    name: "b-server-1x1",
    title: "B, server, 1 connection x 1 stream",
    subject: "server",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 1, inFlight: 1 },
    entrants: grpcEntrants,
    goals: { "grpc-js": 0.45 },
  },
  {
    name: "b-server-100x1",
    title: "B, server, 100 connections x 1 stream",
    subject: "server",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 100, inFlight: 1 },
    entrants: ["http2-bytes", "grpc-js", ours],
    goals: { "grpc-js": 0.15 },
  },
  {
    name: "b-server-stream",
    title: `B, server, streams of ${repeatCount} messages, 4 connections x 4 streams`,
    subject: "server",
    load: { protocol: "grpc", codec: "proto", method: "repeat", connections: 4, inFlight: 4 },
    entrants: grpcEntrants,
    goals: { "grpc-js": 0.08 },
  },
  {
    name: "b-server-headers",
    title: "B, server, two interceptors, headers and a deadline on every call, 4 connections x 32 streams",
    subject: "server",
    setup: "interceptors",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 4, inFlight: 32, hasHeaders: true },
    entrants: ["grpc-js", ours],
    goals: { "grpc-js": 0.15 },
  },
  {
    name: "b-server-tls",
    title: "B over TLS, server, 4 connections x 32 streams",
    subject: "server",
    setup: "tls",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 4, inFlight: 32, tls: true },
    entrants: ["http2-bytes", ours],
    goals: { "http2-bytes": 0.25 },
  },
  {
    name: "b-server-bidi",
    title: `B, server, 32 bidirectional streams on a connection, ${talkCount} messages each way in turn`,
    subject: "server",
    load: { protocol: "grpc", codec: "proto", method: "talk", connections: 1, inFlight: 32 },
    entrants: ["http2-bytes", "grpc-js", "connect-node", ours],
    goals: { "grpc-js": 0.3 },
  },
  {
    name: "b-server-64k",
    title: "B, server, echo of 64 KiB, 4 connections x 4 streams",
    subject: "server",
    load: { protocol: "grpc", codec: "proto", method: "blob64k", connections: 4, inFlight: 4 },
    entrants: ["http2-bytes", "grpc-js", ours],
    goals: { "grpc-js": 0.35, "http2-bytes": 0.8 },
  },
  {
    name: "b-server-1m",
    title: "B, server, echo of 1 MiB, 4 connections x 1 stream",
    subject: "server",
    load: { protocol: "grpc", codec: "proto", method: "blob1m", connections: 4, inFlight: 1 },
    entrants: ["http2-bytes", "grpc-js", ours],
    goals: { "grpc-js": 0.45, "http2-bytes": 0.8 },
  },
  {
    name: "b-server-1x32",
    title: "B, server, 1 connection x 32 streams",
    subject: "server",
    setup: "many-streams",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 1, inFlight: 32 },
    entrants: [ours],
    goals: {},
  },
  {
    name: "b-server-1x500",
    title: "B, server, 1 connection x 500 streams",
    subject: "server",
    setup: "many-streams",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 1, inFlight: 500 },
    entrants: [ours],
    goals: {},
    growth: { from: "b-server-1x32", goal: 1.2 },
  },
  {
    name: "b-server-10-methods",
    title: "B, server, 10 methods in turn, 4 connections x 32 streams",
    subject: "server",
    setup: "methods-10",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 4, inFlight: 32, methods: 10 },
    entrants: [ours],
    goals: {},
  },
  {
    name: "b-server-10000-methods",
    title: "B, server, 10,000 methods in turn, 4 connections x 32 streams",
    subject: "server",
    setup: "methods-10000",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 4, inFlight: 32, methods: 10_000 },
    entrants: [ours],
    goals: {},
    growth: { from: "b-server-10-methods", goal: 1.3 },
  },
  {
    name: "a-server-http2",
    title: "A over HTTP/2, server, JSON, 4 connections x 32 streams",
    subject: "server",
    load: { protocol: "http-rpc", http: "2", codec: "json", method: "echo", connections: 4, inFlight: 32 },
    entrants: ["http2-json", ours],
    goals: { "http2-json": 0.4 },
  },
  {
    name: "a-server-json",
    title: "A over HTTP/1.1, server, JSON, 16 connections",
    subject: "server",
    load: { protocol: "http-rpc", codec: "json", method: "echo", connections: 16, inFlight: 1 },
    entrants: ["http1-json", ours],
    goals: { "http1-json": 0.9 },
  },
  {
    name: "a-server-proto",
    title: "A over HTTP/1.1, server, binary, 16 connections",
    subject: "server",
    load: { protocol: "http-rpc", codec: "proto", method: "echo", connections: 16, inFlight: 1 },
    entrants: ["http1-proto", ours],
    goals: { "http1-proto": 0.7 },
  },
  {
    name: "b-client-1x32",
    title: "B, client, 1 connection x 32 calls in flight",
    subject: "client",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 1, inFlight: 32 },
    entrants: grpcEntrants,
    goals: { "grpc-js": 0.06, "http2-bytes": 0.16 },
  },
  {
    name: "b-client-1x1",
    title: "B, client, 1 connection x 1 call in flight",
    subject: "client",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 1, inFlight: 1 },
    entrants: grpcEntrants,
    goals: { "grpc-js": 0.45 },
  },
  {
    name: "b-client-stream",
    title: `B, client, streams of ${repeatCount} messages, 1 connection x 4 calls in flight`,
    subject: "client",
    load: { protocol: "grpc", codec: "proto", method: "repeat", connections: 1, inFlight: 4 },
    entrants: grpcEntrants,
    goals: { "grpc-js": 0.08 },
  },
  {
    name: "b-both-1x32",
    title:
      "B, client and server of the same kind, 1 connection x 32 calls in flight: calls/s and p99 are the figures here",
    subject: "client",
    server: "same",
    load: { protocol: "grpc", codec: "proto", method: "echo", connections: 1, inFlight: 32 },
    entrants: ["grpc-js", "connect-node", ours],
    goals: {},
  },
  {
    name: "a-client-json",
    title: "A over HTTP/1.1, client, JSON, 16 calls in flight",
    subject: "client",
    server: "http1-json",
    load: { protocol: "http-rpc", codec: "json", method: "echo", connections: 16, inFlight: 16 },
    entrants: ["http1-json", ours],
    goals: { "http1-json": 1 },
  },
];

/** The contests of encoding and of decoding a message. */
function codecContests(name: string, content: string, method: Load["method"], goals: Contest["goals"]): Contest[] {
  return (["encode", "decode"] as const).map((part) => ({
    name: `codec-${name}-${part}`,
    title: `protobuf, ${part}, ${content}`,
    subject: "codec",
    load: { protocol: "grpc", codec: "proto", method, part, connections: 0, inFlight: 1 },
    entrants: ["protobuf-es", "protobufjs", ours],
    goals,
  }));
}

/**
 * Returns the contests and entrants with the given names. An unknown name is an error. Without names of a kind, all of that
 * kind are returned.
 */
export function selectContests(names: readonly string[]): Contest[] {
  const entrants = new Set(contests.flatMap((contest) => contest.entrants));
  const wantedContests = names.filter((name) => contests.some((contest) => contest.name === name));
  const wantedEntrants = names.filter((name) => entrants.has(name));
  const unknown = names.filter((name) => !wantedContests.includes(name) && !wantedEntrants.includes(name));
  if (unknown.length > 0) throw new RangeError(`no contest and no entrant is called ${unknown.join(" or ")}`);
  return contests
    .filter((contest) => wantedContests.length === 0 || wantedContests.includes(contest.name))
    .map((contest) => ({ ...contest, entrants: contest.entrants.filter(isWanted) }))
    .filter((contest) => contest.entrants.length > 0);

  function isWanted(entrant: string): boolean {
    return wantedEntrants.length === 0 || wantedEntrants.includes(entrant);
  }
}
