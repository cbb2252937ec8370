/** The retry policy of clients of the shop. */
import { Code, type RetryOptions } from "triple-es";

export const shopRetry: RetryOptions = {
  maxAttempts: 5,
  initialBackoffMs: 20,
  // The server answers `aborted` when two transactions have changed the same rows: one of them is repeated.
  codes: [Code.Unavailable, Code.Aborted],
  // Conflicts are normal, so more calls may be repeated than after failures of a server.
  budget: { ratio: 1 },
  // By default only methods are retried whose proto file says that this is safe. The key makes it safe for orders too.
  applies: ({ name, idempotency }) => idempotency !== undefined || name === "PlaceOrder",
};
