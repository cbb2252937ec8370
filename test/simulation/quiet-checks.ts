/**
 * Checks of the phase without faults, while everything still runs: no handler of a call that has ended (I6), no connection
 * that has ended and stays open (I9), no pool above its maximum (I10).
 */
import type { Scenario } from "./scenario.ts";

/** Time in which a server learns that a call has ended and its handler ends: the longest delay of a handler, and more. */
const HANDLER_MS = 6_000;
/** Time in which a socket must close after its end. */
const END_MS = 5_000;

export async function checkQuiet(scenario: Scenario): Promise<void> {
  const { world, plan, ledger, network, observers } = scenario;
  for (const observer of observers.values()) observer.checkQuiet();
  const sockets = [...network.connections].flatMap(({ socket, accepted }) => [socket, accepted]);
  const ended = sockets.filter(({ writableEnded, destroyed }) => writableEnded && !destroyed);
  await world.sleep(Math.max(HANDLER_MS, END_MS));
  for (const { destroyed, label } of ended) {
    if (!destroyed) ledger.violate("I9", `the socket ${label} has ended, and is still open ${END_MS} ms later`);
  }
  // After a fault a server may wait for its keepalive.
  if (plan.faults.length > 0) return;
  for (const [id, { running, settledAt = world.now, operation }] of ledger.entries) {
    if (running === 0 || world.now - settledAt < HANDLER_MS) continue;
    const call = `call ${id} (${operation.kind}, ${operation.behaviour})`;
    ledger.violate("I6", `the handler of ${call} still runs ${HANDLER_MS} ms after its end`);
  }
}

/** Checks the number of connections of a client to a server; called for each new one. */
export function checkConnections({ plan, network, observers, ledger }: Scenario, client: string, server: string): void {
  const { options } = plan.clients[Number(client.slice("client".length)) - 1] ?? {};
  const { maxConnections = 10 } = options ?? {};
  // A connection that has failed remains for a moment beside the next one, and a transport that closes beside its successor.
  // Clients of a registry ask providers for their metadata, on connections of their own.
  if (plan.faults.length > 0 || plan.registry !== undefined) return;
  const open = [...network.connections].filter(
    (one) =>
      one.client === client && one.server === server && !one.socket.writableEnded && !observers.get(one)?.isLeaving,
  );
  if (open.length > Number(maxConnections)) {
    ledger.violate("I10", `${client} has ${open.length} connections to ${server}; its maximum is ${maxConnections}`);
  }
}
