/**
 * Exponential backoff, with the constants of gRPC's document "connection-backoff".
 */

/** The first wait, in milliseconds. */
export const INITIAL_BACKOFF_MS = 1_000;
/** The factor by which each wait is longer than the one before. */
export const BACKOFF_MULTIPLIER = 1.6;
/** The share by which a wait is lengthened or shortened at random, so that clients do not all repeat at the same time. */
export const JITTER = 0.2;
