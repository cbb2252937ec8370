/**
 * Checks of the phase without faults, while everything still runs: no handler of a call that has ended (I6), no connection
 * that has ended and stays open (I9), no pool above its maximum (I10).
 */
import { OK } from "./ledger.ts";
import type { Connection } from "./network.ts";
import { LAST_PROBE, type RunningClient, type Scenario } from "./scenario.ts";

/** Time in which a server learns that a call has ended and its handler ends: the longest delay of a handler, and more. */
const HANDLER_MS = 6_000;
/** Time in which a socket must close after its end. */
const END_MS = 5_000;
/** Time for which a client may have more connections than its maximum: a failed one remains until its socket has closed. */
const SURPLUS_MS = 3_000;

/** Time for which a client may have more calls at an endpoint than its limit. */
const LIMIT_MS = 100;
/** Bytes of an unread request: more than the window of a stream. */
const UNREAD_BYTES = 300_000;
/** Time in which unread requests fill their windows, and after which they are cancelled. */
const UNREAD_MS = [10_000, 50_000] as const;

/** Time after which a connection of HTTP/1.1 is free for the next request. */
const FREE_MS = 100;

export async function checkQuiet(scenario: Scenario): Promise<void> {
  const { world, ledger, network, observers } = scenario;
  for (const observer of observers.values()) observer.checkQuiet();
  const sockets = [...network.connections].flatMap(({ socket, accepted }) => [socket, accepted]);
  const ended = sockets.filter(({ writableEnded, destroyed }) => writableEnded && !destroyed);
  await world.sleep(Math.max(HANDLER_MS, END_MS));
  for (const { destroyed, label } of ended) {
    if (!destroyed) ledger.violate("I9", `the socket ${label} has ended, and is still open ${END_MS} ms later`);
  }
  // A server may wait for its keepalive if the connection has ended without a sign.
  const alive = new Set([...network.connections].flatMap((one) => (isAlive(one) ? one.socket.localPort : [])));
  for (const [id, { running, settledAt = world.now, operation }] of ledger.entries) {
    const left = [...running].find(({ port }) => port !== undefined && alive.has(port));
    if (left === undefined || world.now - settledAt < HANDLER_MS) continue;
    const call = `call ${id} (${operation.kind}, ${operation.behaviour})`;
    ledger.violate("I6", `the handler of ${call} still runs at ${left.server}, ${HANDLER_MS} ms after its end`);
  }
}

/** Checks that unread streams, more than fit into the window of a connection, stop no other call (I14). */
export async function checkUnread(scenario: Scenario): Promise<void> {
  const { clients, plan, world, ledger } = scenario;
  const { unreadStreams } = plan;
  if (unreadStreams === undefined) return;
  const [fillMs, cancelMs] = UNREAD_MS;
  const check = async (client: RunningClient): Promise<void> => {
    if (client.plan.protocol !== "grpc") return;
    const streams = Array.from({ length: unreadStreams }, () => scenario.openUnread(client, UNREAD_BYTES, cancelMs));
    await world.sleep(fillMs);
    const [outcome] = await scenario.probe(client, ...LAST_PROBE);
    ledger.see("unread streams");
    if (outcome !== OK)
      ledger.violate("I14", `a call of client${client.index + 1} fails beside ${unreadStreams} unread streams`);
    await Promise.all(streams);
  };
  await Promise.all(clients.map(check));
}

function isAlive({ socket, accepted, upstream, downstream }: Connection): boolean {
  return !socket.destroyed && !accepted.destroyed && !upstream.isSilent && !downstream.isSilent;
}

/** Checks the limit of calls that a client makes to an endpoint at once (I10); called for each new stream. */
export function checkLimit(scenario: Scenario, { client, server }: Connection): void {
  const { world, plan, ledger } = scenario;
  const { options, watchesHealth, loads } = plan.clients[Number(client.slice("client".length)) - 1] ?? {};
  const limit = options?.["maxRequestsPerEndpoint"];
  // The same transports have more connections than those of calls, as in the check of connections.
  if (limit === undefined || plan.registry !== undefined || plan.faults.some(({ kind }) => kind === "close client"))
    return;
  const watches = (watchesHealth ? 1 : 0) + (loads === undefined ? 0 : 1);
  const open = (): string[] =>
    [...usable(scenario, client, server)].flatMap((one) =>
      (scenario.observers.get(one)?.openStreams ?? []).map((stream) => `${one.id}/${stream}`),
    );
  const first = new Set(open());
  if (first.size <= Number(limit) + watches) return;
  // A stream that was given up is reset a moment later.
  world.after(LIMIT_MS, () => {
    const left = open().filter((one) => first.has(one));
    if (left.length > Number(limit) + watches)
      ledger.violate("I10", `${client} has ${left.length} streams to ${server}; its limit is ${limit} calls`);
  });
}

/** Checks the number of connections of a client to a server; called for each new one. */
export function checkConnections(scenario: Scenario, client: string, server: string): void {
  const { world, plan, ledger } = scenario;
  const { options } = plan.clients[Number(client.slice("client".length)) - 1] ?? {};
  const { maxConnections = 10 } = options ?? {};
  // Clients of a registry ask providers for their metadata, on connections of their own, and a transport that closes has some
  // beside its successor.
  if (plan.registry !== undefined || plan.faults.some(({ kind }) => kind === "close client")) return;
  const first = usable(scenario, client, server);
  if (first.size <= Number(maxConnections)) return;
  // A connection that has failed remains for a moment beside the next one.
  world.after(SURPLUS_MS, () => {
    const left = [...usable(scenario, client, server)].filter((one) => first.has(one));
    if (left.length > Number(maxConnections)) {
      ledger.violate("I10", `${client} has ${left.length} connections to ${server}; its maximum is ${maxConnections}`);
    }
  });
}

/**
 * Checks that a client over HTTP/1.1 makes no connection for a request while another one is free; called for the first request on
 * each connection.
 */
export function checkReuse({ messages, ledger, plan }: Scenario, { id, client, server, dialedAt }: Connection): void {
  // A transport that closes has free connections beside its successor.
  if (plan.faults.some(({ kind }) => kind === "close client")) return;
  for (const [other, { idleSince = Number.POSITIVE_INFINITY }] of messages) {
    const isOther = other.client !== client || other.server !== server || other.socket.destroyed;
    if (!isOther && idleSince < dialedAt - FREE_MS)
      ledger.violate("I10", `${client} uses connection ${id} to ${server}, although ${other.id} is free`);
  }
}

/** The connections on which a client may open streams, as far as their frames tell. */
function usable({ network, observers }: Scenario, client: string, server: string): Set<Connection> {
  const all = [...network.connections].filter(
    (one) =>
      one.client === client &&
      one.server === server &&
      one.upstream.isIdle &&
      !one.socket.destroyed &&
      !one.socket.writableEnded &&
      !observers.get(one)?.isLeaving,
  );
  return new Set(all);
}
