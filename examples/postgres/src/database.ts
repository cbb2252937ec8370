/** Transactions that end with their call, and the codes of failures of the database. */
import { setTimeout as pause } from "node:timers/promises";
import pg from "pg";
import { Code, RpcError } from "triple-es";

// Ids are bigint in SQL, in messages and here.
pg.types.setTypeParser(pg.types.builtins.INT8, BigInt);

/** The codes of SQLSTATE that callers can act on. Others are faults of the service, which reach `onError`, not the caller. */
const CODES: Readonly<Record<string, readonly [code: Code, text: string]>> = {
  // The client's retry policy repeats these transactions.
  "40001": [Code.Aborted, "another transaction has changed the same rows; try again"],
  "40P01": [Code.Aborted, "another transaction has locked the same rows; try again"],
  "53300": [Code.Unavailable, "the database has too many connections"],
  "57P01": [Code.Unavailable, "the database is closing"],
  "57P03": [Code.Unavailable, "the database is starting or closing"],
};

/** The texts of unique constraints that are violated, by their names. */
const CONSTRAINTS: Readonly<Record<string, string>> = {
  one_order_per_key: "the idempotency key has been used for another order",
};

/** The time between two cancellations of the queries of a call that has ended, in milliseconds. */
const CANCEL_INTERVAL_MS = 100;

export class Database {
  readonly #pool: pg.Pool;
  /** Cancels queries. It is separate, because the pool may have no free connection just when queries hang. */
  readonly #cancels: pg.Pool;

  constructor(connectionString: string) {
    this.#pool = new pg.Pool({ connectionString, max: 10, connectionTimeoutMillis: 5_000 });
    this.#cancels = new pg.Pool({ connectionString, max: 2, connectionTimeoutMillis: 5_000 });
    // Connections that fail while they are idle are replaced.
    for (const pool of [this.#pool, this.#cancels]) pool.on("error", () => {});
  }

  /**
   * Runs queries on one connection as one serializable transaction. When the signal fires, because the caller has left or its
   * deadline has passed, the running query is cancelled and the transaction is rolled back.
   */
  async transaction<T>(signal: AbortSignal, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error) => {
      throw errorOf(error);
    });
    let isOver = false;
    let cancelled: Promise<unknown> = Promise.resolve();
    // It has no effect between two queries, or before the server has received one, so it is repeated.
    const cancelQueries = async (): Promise<void> => {
      while (!isOver) {
        await this.#cancels.query("SELECT pg_cancel_backend($1)", [processIdOf(client)]).catch(() => {});
        if (!isOver) await pause(CANCEL_INTERVAL_MS);
      }
    };
    const cancel = (): void => {
      cancelled = cancelQueries();
    };
    signal.addEventListener("abort", cancel, { once: true });
    let isBroken = false;
    try {
      signal.throwIfAborted();
      await client.query("BEGIN ISOLATION LEVEL SERIALIZABLE");
      const result = await work(client);
      signal.throwIfAborted();
      await client.query("COMMIT");
      return result;
    } catch (error) {
      isOver = true;
      // The cancellation must not meet a later query of this connection.
      await cancelled;
      await client.query("ROLLBACK").catch(() => {
        isBroken = true;
      });
      // The caller is told why its call has ended, such as its deadline, not that a query was cancelled.
      throw signal.aborted ? signal.reason : errorOf(error);
    } finally {
      isOver = true;
      signal.removeEventListener("abort", cancel);
      await cancelled;
      client.release(isBroken);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#pool.end(), this.#cancels.end()]);
  }
}

/** The process of the server that runs a connection's queries. Missing in the types of `pg`. */
function processIdOf(client: pg.PoolClient): number {
  return (client as unknown as { processID: number }).processID;
}

/** Returns the error for the caller: with a code if there is one, otherwise unchanged. */
function errorOf(error: unknown): unknown {
  if (error instanceof pg.DatabaseError) {
    const { code = "", constraint = "" } = error;
    const UNIQUE_VIOLATION = "23505";
    if (code === UNIQUE_VIOLATION) {
      return new RpcError(Code.AlreadyExists, CONSTRAINTS[constraint] ?? "it exists already", { cause: error });
    }
    const known = CODES[code];
    return known === undefined ? error : new RpcError(...known, { cause: error });
  }
  const isRefused = error instanceof Error && /ECONN|EPIPE|timeout|terminated/i.test(error.message);
  return isRefused ? new RpcError(Code.Unavailable, "the database cannot be reached", { cause: error }) : error;
}
