/**
 * Service configs in TXT records (gRFC A2): a list of choices, each with the clients to which it applies.
 *
 *     Record → "grpc_config=" JSON array of
 *              { clientLanguage?: [string], percentage?: 0 to 100, clientHostname?: [string], serviceConfig: object }
 */

const PREFIX = "grpc_config=";
/** The values of `clientLanguage` that select this client: its name, and `node`, the name of gRPC's client for Node. */
const LANGUAGES: readonly unknown[] = ["triple-es", "node"];

interface Choice {
  readonly clientLanguage?: unknown;
  readonly percentage?: unknown;
  readonly clientHostname?: unknown;
  readonly serviceConfig?: unknown;
}

/**
 * Returns the service config of the first choice that applies to this client. The argument is the result of a TXT query: a
 * list of strings for each record. Returns `undefined` if no choice applies. A record that is not a JSON array is
 * returned unchanged, so that the validation of configs reports it.
 */
export function chooseServiceConfig(
  records: readonly (readonly string[])[],
  hostname: string,
  random: () => number,
): unknown {
  const text = records.map((pieces) => pieces.join("")).find((record) => record.startsWith(PREFIX));
  if (text === undefined) return undefined;
  let choices: unknown;
  try {
    choices = JSON.parse(text.slice(PREFIX.length));
  } catch {
    return text;
  }
  if (!Array.isArray(choices)) return text;
  const percentile = random() * 100;
  const chosen = choices.find((choice: Choice | null) => {
    const { clientLanguage, clientHostname, percentage } = choice ?? {};
    if (!hasOne(clientLanguage, LANGUAGES) || !hasOne(clientHostname, [hostname])) return false;
    return typeof percentage !== "number" || percentile < percentage;
  }) as Choice | undefined;
  return chosen?.serviceConfig;
}

/** Reports whether a list has one of the names. Without a list, or in an empty one, there is no condition. */
function hasOne(given: unknown, names: readonly unknown[]): boolean {
  return !Array.isArray(given) || given.length === 0 || names.some((name) => given.includes(name));
}
