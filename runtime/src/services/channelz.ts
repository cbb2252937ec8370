/**
 * gRPC's channelz (gRFC A14), by which tools such as grpcdebug read the state of servers and transports: calls, connections and
 * their addresses. Every client that can call the service can read it.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Transport } from "../client/client.ts";
import { formatAddress } from "../discovery/endpoint.ts";
import {
  type AddressSchema,
  type ChannelSchema,
  ChannelConnectivityState_State as Connectivity,
  type ServerSchema,
  ChannelTraceEvent_Severity as Severity,
  type SocketRefSchema,
  type SocketSchema,
  type SubchannelSchema,
} from "../gen/grpc/channelz/v1/channelz_pb.ts";
import { ChannelzDef, type ChannelzHandler } from "../gen/grpc/channelz/v1/channelz_triple.ts";
import type {
  CallCounts,
  ServerState,
  Shown,
  SocketAddress,
  SocketState,
  StreamCounts,
  SubchannelState,
  TraceEvent,
  TransportState,
} from "../http/channel-state.ts";
import type { Router, ServiceOptions } from "../server/router.ts";

/** Maximum number of results in a response, and the number for a client that names none. */
const MAX_RESULTS = 100;

const CONNECTIVITY: Readonly<Record<SubchannelState["state"], Connectivity>> = {
  idle: Connectivity.IDLE,
  connecting: Connectivity.CONNECTING,
  ready: Connectivity.READY,
  failing: Connectivity.TRANSIENT_FAILURE,
  ejected: Connectivity.TRANSIENT_FAILURE,
};

/**
 * Adds the service `grpc.channelz.v1.Channelz` to a router or server, and counts the calls of what it shows from then on. Calls of
 * an endpoint and streams are counted from the beginning, messages never. Throws a `TypeError` for what it cannot show.
 *
 *     addChannelz(admin, { servers: [server], transports: [orders], authorize });
 */
export function addChannelz(
  router: Router,
  options: ServiceOptions & {
    /** The routers and servers that it shows. It is read for each request, so a `Set` may change. Default: the router itself. */
    readonly servers?: Iterable<Router> | undefined;
    /** The transports of `triple-es/node` that it shows, read in the same way. Default: none. */
    readonly transports?: Iterable<Transport> | undefined;
  } = {},
): void {
  const { servers = [router], transports = [], ...serviceOptions } = options;
  const shown = new States(servers, transports);
  shown.servers();
  shown.transports();
  router.add(ChannelzDef, createHandler(shown), serviceOptions);
}

type Numbered<State> = State & { readonly id: number };

/** The states of servers and transports, with an id for each object, which it keeps. */
class States {
  readonly #servers: Iterable<Router>;
  readonly #transports: Iterable<Transport>;
  readonly #ids = new WeakMap<object, number>();
  #lastId = 0;

  constructor(servers: Iterable<Router>, transports: Iterable<Transport>) {
    this.#servers = servers;
    this.#transports = transports;
  }

  servers(): Numbered<ServerState>[] {
    return [...this.#servers].map((one) => this.#stateOf<ServerState>(one, "a server of channelz must be a router"));
  }

  transports(): Numbered<TransportState>[] {
    const problem = "a transport of channelz must be one of createTransport of triple-es/node";
    return [...this.#transports].map((one) => this.#stateOf<TransportState>(one, problem));
  }

  subchannels(): SubchannelState[] {
    return this.transports().flatMap(({ subchannels }) => subchannels);
  }

  sockets(): SocketState[] {
    const ofServers = this.servers().flatMap(({ listening, sockets }) => [...listening, ...sockets]);
    return [...ofServers, ...this.subchannels().flatMap(({ sockets }) => sockets)];
  }

  idOf(key: object): number {
    const id = this.#ids.get(key) ?? ++this.#lastId;
    this.#ids.set(key, id);
    return id;
  }

  #stateOf<State extends { readonly calls: CallCounts }>(one: object, problem: string): Numbered<State> {
    const state = (one as Partial<Shown<State>> | undefined)?.["~state"]?.();
    if (state === undefined) throw new TypeError(problem);
    state.calls.isOn = true;
    return { ...state, id: this.idOf(one) };
  }
}

function createHandler(shown: States): ChannelzHandler {
  const idOf = ({ key }: { readonly key: object }): number => shown.idOf(key);
  const socketRef = (one: SocketState) => ({ socketId: BigInt(idOf(one)), name: nameOf(one) });
  const subchannelRef = (one: SubchannelState) => ({ subchannelId: BigInt(idOf(one)), name: one.address });

  const channel = ({ id, target, ...state }: Numbered<TransportState>): MessageInitShape<typeof ChannelSchema> => ({
    ref: { channelId: BigInt(id), name: target },
    data: {
      state: { state: connectivityOf(state) },
      target,
      ...countsOf(state.calls),
      ...lastOf(state.calls),
      trace: {
        creationTimestamp: timestampFromMs(state.created),
        numEventsLogged: BigInt(state.trace?.logged ?? 0),
        events: state.trace?.events.map(traceEvent) ?? [],
      },
    },
    subchannelRef: state.subchannels.map(subchannelRef),
  });
  const server = ({ id, calls, listening }: Numbered<ServerState>): MessageInitShape<typeof ServerSchema> => ({
    ref: { serverId: BigInt(id), name: listening.map(nameOf).join(", ") },
    data: { ...countsOf(calls), ...lastOf(calls) },
    listenSocket: listening.map(socketRef),
  });
  const subchannel = (one: SubchannelState): MessageInitShape<typeof SubchannelSchema> => ({
    ref: subchannelRef(one),
    data: { state: { state: CONNECTIVITY[one.state] }, target: one.address, ...countsOf(one.streams) },
    socketRef: one.sockets.map(socketRef),
  });

  return {
    getTopChannels({ startChannelId, maxResults }) {
      const { page, end } = pageOf(shown.transports(), ({ id }) => id, startChannelId, maxResults);
      return { channel: page.map(channel), end };
    },
    getServers({ startServerId, maxResults }) {
      const { page, end } = pageOf(shown.servers(), ({ id }) => id, startServerId, maxResults);
      return { server: page.map(server), end };
    },
    getServerSockets({ serverId, startSocketId, maxResults }) {
      const { sockets } = find(shown.servers(), ({ id }) => id, serverId, "server");
      const { page, end } = pageOf(sockets, idOf, startSocketId, maxResults);
      return { socketRef: page.map(socketRef), end };
    },
    getServer: ({ serverId }) => ({ server: server(find(shown.servers(), ({ id }) => id, serverId, "server")) }),
    getChannel: ({ channelId }) => ({
      channel: channel(find(shown.transports(), ({ id }) => id, channelId, "channel")),
    }),
    getSubchannel: ({ subchannelId }) => ({
      subchannel: subchannel(find(shown.subchannels(), idOf, subchannelId, "subchannel")),
    }),
    getSocket({ socketId }) {
      const found = find(shown.sockets(), idOf, socketId, "socket");
      return { socket: socketOf(found, socketRef(found)) };
    },
  };
}

/** Returns the members from an id on, in the order of their ids, and whether the last one is among them. */
function pageOf<Member>(
  all: readonly Member[],
  idOf: (one: Member) => number,
  start: bigint,
  maxResults: bigint,
): { readonly page: readonly Member[]; readonly end: boolean } {
  if (start < 0 || maxResults < 0)
    throw new RpcError(Code.InvalidArgument, "start ids and max_results must be 0 or more");
  const rest = all.filter((one) => idOf(one) >= start).sort((a, b) => idOf(a) - idOf(b));
  const length = Math.min(Number(maxResults) || MAX_RESULTS, MAX_RESULTS);
  return { page: rest.slice(0, length), end: rest.length <= length };
}

function find<Member>(all: readonly Member[], idOf: (one: Member) => number, id: bigint, kind: string): Member {
  const found = all.find((one) => BigInt(idOf(one)) === id);
  if (found === undefined) throw new RpcError(Code.NotFound, `there is no ${kind} ${id}`);
  return found;
}

function traceEvent({ time, text, isProblem }: TraceEvent) {
  const severity = isProblem ? Severity.CT_WARNING : Severity.CT_INFO;
  return { timestamp: timestampFromMs(time), description: text, severity };
}

function countsOf({ started, succeeded, failed }: StreamCounts) {
  return { callsStarted: BigInt(started), callsSucceeded: BigInt(succeeded), callsFailed: BigInt(failed) };
}

function lastOf({ lastStarted }: CallCounts) {
  return lastStarted === undefined ? {} : { lastCallStartedTimestamp: timestampFromMs(lastStarted) };
}

/** Returns the best state of the endpoints, in the order of gRPC's policies. */
function connectivityOf({ isClosed, subchannels }: Pick<TransportState, "isClosed" | "subchannels">): Connectivity {
  if (isClosed) return Connectivity.SHUTDOWN;
  const states = new Set(subchannels.map(({ state }) => CONNECTIVITY[state]));
  const order = [Connectivity.READY, Connectivity.CONNECTING, Connectivity.IDLE, Connectivity.TRANSIENT_FAILURE];
  return order.find((state) => states.has(state)) ?? Connectivity.IDLE;
}

function nameOf({ local, remote }: SocketState): string {
  const { address = "", port } = remote ?? local;
  return port === undefined ? address : formatAddress(address, port);
}

function socketOf(
  { local, remote, tls, http2 }: SocketState,
  ref: MessageInitShape<typeof SocketRefSchema>,
): MessageInitShape<typeof SocketSchema> {
  return {
    ref,
    local: addressOf(local),
    ...(remote && { remote: addressOf(remote) }),
    ...(tls && {
      security: {
        model: {
          case: "tls",
          value: {
            cipherSuite: { case: "standardName", value: tls.cipher },
            localCertificate: tls.local,
            remoteCertificate: tls.remote,
          },
        },
      },
    }),
    data:
      http2 === undefined
        ? {}
        : {
            streamsStarted: BigInt(http2.streams.started),
            streamsSucceeded: BigInt(http2.streams.succeeded),
            streamsFailed: BigInt(http2.streams.failed),
            keepAlivesSent: BigInt(http2.keepAlives),
            localFlowControlWindow: BigInt(http2.sendWindow),
            remoteFlowControlWindow: BigInt(http2.receiveWindow),
          },
  };
}

function addressOf({ address = "", port }: SocketAddress): MessageInitShape<typeof AddressSchema> {
  if (port === undefined) return { address: { case: "udsAddress", value: { filename: address } } };
  return { address: { case: "tcpipAddress", value: { ipAddress: ipBytes(address), port } } };
}

/** Returns the bytes of an IP address in the form in which the operating system writes it: 4 or 16. */
function ipBytes(address: string): Uint8Array {
  if (!address.includes(":")) return Uint8Array.from(address.split("."), Number);
  // An IPv4 address in the last 32 bits counts as two groups, and a zone is no part of the address.
  const [head = [], tail] = (address.split("%")[0] as string).split("::").map(groupsOf);
  const zeros = new Array<number>(tail === undefined ? 0 : 16 - head.length - tail.length).fill(0);
  return Uint8Array.from([...head, ...zeros, ...(tail ?? [])]);
}

function groupsOf(text: string): number[] {
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return group.split(".").map(Number);
    const value = Number.parseInt(group, 16);
    return group === "" ? [] : [value >> 8, value & 0xff];
  });
}
