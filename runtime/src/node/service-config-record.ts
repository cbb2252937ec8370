/**
 * Service configs in TXT records (gRFC A2): a list of choices, each for some clients.
 *
 *     Record → "grpc_config=" JSON array of
 *              { clientLanguage?: [string], percentage?: 0 to 100, clientHostname?: [string], serviceConfig: object }
 */

const PREFIX = "grpc_config=";
/** The names of this client in `clientLanguage`: its own, and that of the other one on Node. */
const LANGUAGES: readonly unknown[] = ["triple-es", "node"];

interface Choice {
  readonly clientLanguage?: unknown;
  readonly percentage?: unknown;
  readonly clientHostname?: unknown;
  readonly serviceConfig?: unknown;
}

/**
 * The service config of the first choice that fits this client, from TXT records in the pieces that they travel in; `undefined` where none does.
 * A record that cannot be read is given as it is, so that it is refused where configs are read, with its reason.
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
    if (isListed(clientLanguage) && !clientLanguage.some((one) => LANGUAGES.includes(one))) return false;
    if (isListed(clientHostname) && !clientHostname.includes(hostname)) return false;
    return typeof percentage !== "number" || percentile < percentage;
  }) as Choice | undefined;
  return chosen?.serviceConfig;
}

function isListed(given: unknown): given is readonly unknown[] {
  return Array.isArray(given) && given.length > 0;
}
