/**
 * Options of outlier detection: gRFC A50's, with its names, and the failures in a row of Envoy.
 */
import { assertAmount, assertMembers } from "../call/option.ts";

/** Limits of outlier ejection. Each value is checked when the transport is created. */
export interface EjectionOptions {
  /**
   * Failures in a row after which an endpoint is ejected at once; more, if more than 5 % of the calls to other endpoints fail
   * too. 0: never. Default: 5.
   */
  readonly failures?: number | undefined;
  /** Time between two sweeps, which compare the calls of all endpoints since the last one, in milliseconds. Default: 10,000. */
  readonly intervalMs?: number | undefined;
  /**
   * Duration of the first ejection, in milliseconds. Each further one is longer by as much; for each interval without an
   * ejection, the next one is shorter again. 0: `intervalMs`, as A50 ends ejections at sweeps. Default: 30,000.
   */
  readonly baseEjectionTimeMs?: number | undefined;
  /** Upper bound of the duration of an ejection, in milliseconds. Default: 300,000. */
  readonly maxEjectionTimeMs?: number | undefined;
  /**
   * Percentage of the connected endpoints that may be ejected at a time. One may be ejected in any case, unless it is the only
   * one. Default: 50.
   */
  readonly maxEjectionPercent?: number | undefined;
  /** Ejection of endpoints whose success rate is below the mean of all, at each sweep (gRFC A50). */
  readonly successRateEjection?:
    | {
        /** Distance to the mean, in thousandths of the standard deviation. Default: 1,900. */
        readonly stdevFactor?: number | undefined;
        /** Probability in percent with which an outlier is ejected. 0: never. Default: 100. */
        readonly enforcementPercentage?: number | undefined;
        /** Number of endpoints with at least `requestVolume` calls below which there is no comparison. Default: 2. */
        readonly minimumHosts?: number | undefined;
        /** Number of calls since the last sweep below which an endpoint is not compared. Default: 100. */
        readonly requestVolume?: number | undefined;
      }
    | undefined;
  /** Ejection of endpoints that fail more than a percentage of their calls, at each sweep (gRFC A50). */
  readonly failurePercentageEjection?:
    | {
        /** Percentage of failed calls above which an endpoint is an outlier. Default: 85. */
        readonly threshold?: number | undefined;
        /** Probability in percent with which an outlier is ejected. 0: never. Default: 100. */
        readonly enforcementPercentage?: number | undefined;
        /** Number of connected endpoints below which none is ejected. Default: 5. */
        readonly minimumHosts?: number | undefined;
        /** Number of calls since the last sweep below which an endpoint is not ejected. Default: 50. */
        readonly requestVolume?: number | undefined;
      }
    | undefined;
}

type Settings<Options> = {
  readonly [Name in keyof Options]-?: NonNullable<Options[Name]> extends number
    ? number
    : Settings<NonNullable<Options[Name]>>;
};

/** The options with their defaults. */
export type EjectionSettings = Settings<EjectionOptions>;

/**
 * A50's defaults, with two exceptions. It has `minimumHosts` 5 for success rates, because its rule cannot find an outlier
 * among fewer; ours can. It has `maxEjectionPercent` 10, because it ejects endpoints that fail as often as all the others;
 * ours does not, and half of a fleet may be away.
 */
const DEFAULTS: EjectionSettings = {
  failures: 5,
  intervalMs: 10_000,
  baseEjectionTimeMs: 30_000,
  maxEjectionTimeMs: 300_000,
  maxEjectionPercent: 50,
  successRateEjection: { stdevFactor: 1_900, enforcementPercentage: 100, minimumHosts: 2, requestVolume: 100 },
  failurePercentageEjection: { threshold: 85, enforcementPercentage: 100, minimumHosts: 5, requestVolume: 50 },
};

const PERCENTAGES = ["maxEjectionPercent", "threshold", "enforcementPercentage"];

/** Fills in the defaults. Throws a `TypeError` for an invalid option, whose name begins with `at`. */
export function resolveEjection(given: EjectionOptions | undefined, at = "ejection"): EjectionSettings {
  return fill(DEFAULTS, given, at);
}

/** Fills in the defaults of an object of numbers and of such objects. */
function fill<Options extends object>(defaults: Options, given: object | undefined, at: string): Options {
  if (given !== undefined) assertMembers(at, given, Object.keys(defaults));
  const entries = Object.entries(defaults).map(([name, value]) => {
    const set: unknown = (given as Readonly<Record<string, unknown>> | undefined)?.[name];
    const path = `${at}.${name}`;
    if (typeof value === "object") return [name, fill(value, set as object | undefined, path)];
    if (set === undefined) return [name, value];
    const amount = assertAmount(path, set, name === "intervalMs");
    if (PERCENTAGES.includes(name) && amount > 100) throw new TypeError(`${path} must be at most 100, not ${set}`);
    return [name, set];
  });
  return Object.fromEntries(entries) as Options;
}
