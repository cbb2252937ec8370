/** New and changed orders of all servers, by LISTEN and NOTIFY of PostgreSQL. */
import pg from "pg";
import { Code, RpcError } from "triple-es";

/** Most orders that wait for a slow watcher. */
const MAX_WAITING = 1_000;

const RECONNECT_MS = 1_000;

export class OrderFeed {
  readonly #connectionString: string;
  readonly #watchers = new Set<Watch>();
  #client: pg.Client | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(connectionString: string) {
    this.#connectionString = connectionString;
  }

  /** Starts to listen, on a connection of its own. When it is lost, watchers end, and it is opened again. */
  async open(): Promise<void> {
    const client = new pg.Client({
      connectionString: this.#connectionString,
      connectionTimeoutMillis: 5_000,
      keepAlive: true,
    });
    client.on("error", () => {});
    client.on("end", () => this.#reopen(client));
    client.on("notification", ({ payload = "" }) => {
      for (const watcher of this.#watchers) watcher.add(BigInt(payload));
    });
    try {
      await client.connect();
      await client.query("LISTEN orders");
    } catch (error) {
      client.end().catch(() => {});
      throw error;
    }
    // The feed may have been closed in the meantime.
    if (this.#isClosed) await client.end();
    else this.#client = client;
  }

  #reopen(client: pg.Client): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    for (const watcher of this.#watchers) watcher.fail(interrupted());
    const retry = (): void => {
      if (this.#isClosed) return;
      this.#timer = setTimeout(() => this.open().catch(retry), RECONNECT_MS);
    };
    retry();
  }

  /**
   * Watches the orders that are placed or changed from now on, until the signal fires. Close the watch in any case. Throws
   * `unavailable` if there is no connection.
   */
  watch(signal: AbortSignal): Watch {
    if (this.#client === undefined) throw interrupted();
    const watch = new Watch(signal, () => this.#watchers.delete(watch));
    this.#watchers.add(watch);
    return watch;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    const client = this.#client;
    this.#client = undefined;
    await client?.end();
  }
}

/** The ids of orders that one watcher has not read yet. */
export class Watch {
  readonly #waiting: bigint[] = [];
  readonly #signal: AbortSignal;
  readonly #onClose: () => void;
  #failure: unknown;
  #wake = (): void => {};

  constructor(signal: AbortSignal, onClose: () => void) {
    this.#signal = signal;
    this.#onClose = onClose;
    signal.addEventListener("abort", this.#onAbort);
  }

  add(id: bigint): void {
    const isFull = this.#waiting.push(id) > MAX_WAITING;
    if (isFull) this.fail(new RpcError(Code.ResourceExhausted, "the watcher reads too slowly"));
    this.#wake();
  }

  fail(error: unknown): void {
    this.#failure ??= error;
    this.#wake();
  }

  /** Waits for the next id. Rejects when the signal fires, and when notifications may have been missed. */
  async next(): Promise<bigint> {
    for (;;) {
      this.#signal.throwIfAborted();
      if (this.#failure !== undefined) throw this.#failure;
      const id = this.#waiting.shift();
      if (id !== undefined) return id;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  close(): void {
    this.#signal.removeEventListener("abort", this.#onAbort);
    this.#onClose();
  }

  readonly #onAbort = (): void => this.#wake();
}

function interrupted(): RpcError {
  return new RpcError(Code.Unavailable, "the feed of orders is interrupted; watch again after the last order");
}
