/**
 * The PINGs of this side (RFC 9113, section 6.7), and their acknowledgements.
 */

import type { Output } from "../wire/output.ts";
import type { PingKind } from "./events.ts";
import { writePing } from "./frame.ts";

/** First bytes of our PINGs, by kind. The number of the PING follows. */
const MARKS: Readonly<Record<PingKind, number>> = {
  keepalive: 0x74726b61,
  shutdown: 0x74727364,
  receipt: 0x74727263,
};

export class Pings {
  /** The numbers of the PINGs that wait for their acknowledgement, by kind. */
  #waiting: Map<PingKind, number> | undefined;
  #count = 0;

  /** Writes a PING. Returns false if one of that kind is still unacknowledged. */
  send(output: Output, kind: PingKind): boolean {
    if (this.#waiting?.has(kind)) return false;
    this.#count++;
    this.#waiting ??= new Map();
    this.#waiting.set(kind, this.#count);
    writePing(output, false, MARKS[kind], this.#count);
    return true;
  }

  /** Returns the kind of PING that an acknowledgement matches, which then waits no longer; `undefined` if it matches none. */
  acknowledge(high: number, low: number): PingKind | undefined {
    for (const [kind, count] of this.#waiting ?? []) {
      if (MARKS[kind] !== high || count !== low) continue;
      this.#waiting?.delete(kind);
      return kind;
    }
    return undefined;
  }
}
