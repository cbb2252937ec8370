/**
 * Policies while other clients overload one of three providers, in virtual time: each provider executes 8 calls at a
 * time, 100 ms each, and queues the rest. `npm run bench:overload` measures the same over sockets.
 */
import { type Balancer, p2c, type ReadyEndpoint, roundRobin } from "triple-es/discovery";
import { expect, it } from "vitest";
import type { HttpRequest } from "../../runtime/src/http/exchange.ts";
import { seeded } from "./random.ts";

const SLOTS = 8;
const CALL_MS = 100;
const CALLERS = 4 * SLOTS;
/** The calls that other clients keep open at the overloaded provider. */
const OVERLOAD = 3 * SLOTS;
const DEADLINE_MS = 1_000;
const DURATION_MS = 60_000;

/** Runs callbacks in the order of their times. */
class VirtualTime {
  now = 0;
  readonly #due: { readonly time: number; readonly run: () => void }[] = [];

  after(ms: number, run: () => void): void {
    const time = this.now + ms;
    const index = this.#due.findLastIndex((one) => one.time <= time) + 1;
    this.#due.splice(index, 0, { time, run });
  }

  runUntil(end: number): void {
    for (let next = this.#due.shift(); next !== undefined && next.time <= end; next = this.#due.shift()) {
      this.now = next.time;
      next.run();
    }
  }
}

class Provider {
  readonly #time: VirtualTime;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  call(onEnd: () => void): void {
    this.#waiting.push(onEnd);
    this.#startMore();
  }

  #startMore(): void {
    while (this.#running < SLOTS) {
      const onEnd = this.#waiting.shift();
      if (onEnd === undefined) return;
      this.#running++;
      this.#time.after(CALL_MS, () => {
        this.#running--;
        onEnd();
        this.#startMore();
      });
    }
  }
}

/**
 * Returns the number of calls that succeed within their deadline, at three providers or at the two that are not
 * overloaded.
 */
function goodput(balancer: Balancer, used: 2 | 3): number {
  const time = new VirtualTime();
  const providers = [new Provider(time), new Provider(time), new Provider(time)];
  const press = (): void => providers[0]?.call(press);
  for (let i = 0; i < OVERLOAD; i++) press();

  const endpoints = providers.slice(3 - used).map((provider, i) => ({ provider, address: `s${i}:1`, active: 0 }));
  const ready = endpoints.map(
    (one): ReadyEndpoint => ({
      endpoint: { address: one.address },
      weight: 100,
      get active() {
        return one.active;
      },
    }),
  );
  const picker = balancer(ready);
  let good = 0;
  const call = (): void => {
    const picked = picker({} as HttpRequest).endpoint.address;
    const endpoint = endpoints.find(({ address }) => address === picked);
    if (endpoint === undefined) throw new Error(`no endpoint ${picked}`);
    const start = time.now;
    endpoint.active++;
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      endpoint.active--;
      if (time.now - start < DEADLINE_MS) good++;
      call();
    };
    time.after(DEADLINE_MS, end);
    endpoint.provider.call(end);
  };
  for (let i = 0; i < CALLERS; i++) call();
  time.runUntil(DURATION_MS);
  return good;
}

/** The goodput of all three providers relative to that of the two that are not overloaded. */
const ratio = (make: () => Balancer): number => goodput(make(), 3) / goodput(make(), 2);

it("p2c keeps at least 90 % of the goodput of the other two providers", () => {
  for (let seed = 1; seed <= 5; seed++) expect(ratio(() => p2c({ random: seeded(seed) }))).toBeGreaterThan(0.9);
});

it("round robin does not: its callers wait for the overloaded provider", () => {
  expect(ratio(() => roundRobin({ random: seeded(1) }))).toBeLessThan(0.9);
});
