/**
 * Weights and start times in Dubbo's registries.
 */
import { DEFAULT_WEIGHT } from "triple-es/internal";

/** Times below this, read as milliseconds, are before 1973: dubbo-go writes seconds. */
const FIRST_MILLISECOND = 1e11;

/**
 * Parses a weight. A missing or malformed one is the default. dubbo-go writes 0 where none is configured, so a weight
 * of 0 from it is the default, too.
 */
export function parseWeight(weight: string | undefined, release: string | undefined): number {
  const parsed = Number(weight);
  if (weight === undefined || weight.trim() === "" || !(parsed >= 0)) return DEFAULT_WEIGHT;
  if (parsed === 0 && release?.startsWith("dubbo-golang")) return DEFAULT_WEIGHT;
  return Math.min(parsed, 1e6);
}

/** Parses the time of a start, in milliseconds, or in seconds as dubbo-go writes it. */
export function parseSince(timestamp: string | undefined): number | undefined {
  const parsed = Number(timestamp);
  if (timestamp === undefined || !(parsed > 0) || !Number.isFinite(parsed)) return undefined;
  return parsed < FIRST_MILLISECOND ? parsed * 1_000 : parsed;
}
