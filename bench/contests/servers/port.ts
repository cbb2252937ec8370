/** Listens on a free port of the loopback interface, and reports the port to the parent. */
import { once } from "node:events";
import type { AddressInfo, Server } from "node:net";
import { readMemory } from "../../../test/soak/memory.ts";
import { answerParent } from "../../child.ts";

export const loopback = "127.0.0.1";

export function announcePort(port: number): void {
  answerParent({ port: () => port, memory: readMemory });
}

export async function listen(server: Server): Promise<void> {
  await once(server.listen(0, loopback), "listening");
  announcePort((server.address() as AddressInfo).port);
}
