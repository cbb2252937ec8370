/**
 * The endpoints of a target that take calls, and the picker that chooses among them. A change of the endpoints, of
 * their weights or of the policy replaces the picker.
 */
import { now, random, startBackgroundTimer, wallClock } from "../call/platform.ts";
import type { HttpRequest } from "../http/exchange.ts";
import type { RoutedBalancer, RoutedPicker } from "./balancer.ts";
import type { OutlierDetector } from "./ejection.ts";
import type { Member } from "./member.ts";
import { weighByLoad } from "./policy/weighted-round-robin.ts";
import type { TargetOptions } from "./target-options.ts";
import type { ZoneOptions } from "./zone.ts";

type ReadySetOptions = Pick<TargetOptions, "warmUpMs"> & ZoneOptions;

/** The target of a {@link ReadySet}. */
export interface ReadySetOwner {
  /** All endpoints of the target, ready or not, in the order of the resolver's list. */
  readonly members: Iterable<Member>;
  /** False while the target is paused or closed: pickers are not made then. */
  isActive(): boolean;
  /** Handles an endpoint whose ejection is over. */
  onReturned(member: Member): void;
  /** Called after each new picker. */
  onPicker(): void;
}

/** The interval at which growing weights are computed, in milliseconds. */
const GROWTH_INTERVAL_MS = 1_000;
/**
 * With this many ready endpoints or more, new ones are added to the picker in batches, `BATCH_MS` milliseconds after
 * the first of a batch.
 */
const MANY = 100;
const BATCH_MS = 10;
/** Default number of picks of the policy before an endpoint that a call has not tried is chosen without it. */
const PICKS = 3;

export class ReadySet {
  /** Chooses an endpoint for a call. `undefined` while no endpoint is ready, or while the target is paused or closed. */
  picker: RoutedPicker | undefined;
  /** The policy. Call {@link changed} after a change of it. */
  balancer: RoutedBalancer;
  readonly #owner: ReadySetOwner;
  readonly #outliers: OutlierDetector;
  readonly #options: ReadySetOptions;
  #ready: readonly Member[] = [];
  #ejected: readonly Member[] = [];
  #isStale = false;
  #stopBatch: (() => void) | undefined;
  #stopGrowth = (): void => {};
  #stopReturn = (): void => {};

  constructor(owner: ReadySetOwner, outliers: OutlierDetector, balancer: RoutedBalancer, options: ReadySetOptions) {
    this.#owner = owner;
    this.#outliers = outliers;
    this.balancer = balancer;
    this.#options = options;
  }

  /** The ready endpoints that a call may use. */
  among(request: HttpRequest): readonly Member[] {
    return (this.picker?.among?.(request) as readonly Member[] | undefined) ?? this.#ready;
  }

  /** Picks a ready endpoint that the call has not tried yet. Returns `undefined` if it has tried all. */
  pickOther(request: HttpRequest, tried: ReadonlySet<object>, maxPicks: number = PICKS): Member | undefined {
    for (let picks = 0; picks < maxPicks; picks++) {
      const picked = this.picker?.(request) as Member | undefined;
      if (picked === undefined || !tried.has(picked)) return picked;
    }
    const others = this.among(request).filter((member) => !tried.has(member));
    return others[Math.floor(random() * others.length)];
  }

  /** Makes a new picker before the turn of the event loop ends, once for all changes of the turn. */
  changed(): void {
    if (this.#isStale) return;
    this.#isStale = true;
    queueMicrotask(() => {
      this.#isStale = false;
      this.update();
    });
  }

  /** Adds an endpoint to the picker, after a short delay if there are many: making a picker costs time for each endpoint. */
  added(): void {
    if (this.#ready.length < MANY) this.changed();
    else this.#stopBatch ??= startBackgroundTimer(BATCH_MS, () => this.update());
  }

  /** Makes a new picker at once. The error of a policy that throws fails calls, and not the process. */
  update(): void {
    this.stop();
    if (!this.#owner.isActive()) return;
    const time = now();
    const all = [...this.#owner.members];
    const members = all.filter(({ state }) => state === "ready");
    const pending = all.filter((one) => one.state !== "ready" && one.lastError === undefined);
    let grows = false;
    for (const member of members) grows = member.updateWeight(time, wallClock(), this.#options.warmUpMs) || grows;
    const returned = this.#ejected.filter((member) => member.state === "ready" && !member.isEjected(time));
    // As of any endpoint that becomes ready (gRFC A58): calls that ended meanwhile have reported the load before.
    for (const member of returned) member.load = undefined;
    this.#ejected = members.filter((member) => member.isEjected(time));
    const able = this.#outliers.withoutEjected(preferListed(members, time), time);
    const weighted = able.filter(({ weight }) => weight > 0);
    if (weighted.length === 0) for (const member of able) member.weight = 1;
    this.#ready = weighted.length === 0 ? able : weighted;
    this.#options.zone?.weigh(all, this.#ready, time);
    const { loads } = this.balancer;
    if (loads !== undefined) weighByLoad(this.#ready, loads, time);
    try {
      if (this.#ready.length > 0) this.picker = this.balancer(this.#ready, pending);
    } catch {
      this.picker = (request) => this.balancer(this.#ready, pending)(request);
    }
    const intervalMs = loads?.weightUpdatePeriodMs ?? GROWTH_INTERVAL_MS;
    if (grows || loads !== undefined) this.#stopGrowth = startBackgroundTimer(intervalMs, () => this.changed());
    this.#watchReturns(time);
    this.#owner.onPicker();
    // The hook comes last, because it may close the target.
    for (const member of returned) this.#owner.onReturned(member);
  }

  /** Stops all timers. Without a picker, later calls wait for the target to resume or fail because it is closed. */
  stop(): void {
    this.#stopBatch?.();
    this.#stopBatch = undefined;
    this.#stopGrowth();
    this.#stopReturn();
    this.picker = undefined;
  }

  /** Makes a new picker when the next endpoint's ejection is over. */
  #watchReturns(now: number): void {
    if (this.#ejected.length === 0) return;
    const next = Math.min(...this.#ejected.map(({ ejectedUntil }) => ejectedUntil));
    this.#stopReturn = startBackgroundTimer(next - now + 1, () => this.changed());
  }
}

/**
 * The endpoints that the list names, or all while none of those takes calls: the list decides where calls go, also to fewer
 * endpoints than are connected, because it cannot be distinguished from the list of an operator who moves traffic.
 */
function preferListed(ready: readonly Member[], now: number): readonly Member[] {
  const listed = ready.filter(({ isListed }) => isListed);
  return listed.some((member) => !member.isEjected(now)) ? listed : ready;
}
