/**
 * Dynamic configuration: the rules `APPLICATION.configurators` and `SERVICE:VERSION:GROUP.configurators`, which replace
 * parameters of consumers and providers while they run. Each item of a text is applied by one side, to the subjects that it
 * selects:
 *
 *     configs: [{ side: provider, addresses: ["10.0.0.7:50051"], parameters: { weight: 20 } }]
 */
import { addressTest, type HostAndPort, splitPort } from "./address.ts";
import { globTest, javaName } from "./condition.ts";
import { booleanOf, type Fields, fieldsOf, isPresent, parseDocument, readHeader, textOf, textsOf } from "./document.ts";
import { type Parameters, parameterMatch, textMatch } from "./subject.ts";

/** A consumer or a provider to configure, or an endpoint as its consumer sees it. */
export interface Configurable {
  readonly side: "consumer" | "provider";
  /** The address of the process that applies the rule: the consumer, or the host of the provider. */
  readonly own: string;
  /** The host and the `host:port` of the provider or endpoint. */
  readonly host: string;
  readonly address: string;
  /** The application of the process that applies the rule. */
  readonly application: string;
  /** The service key, `group/service:version`. `undefined`: all services of the process. */
  readonly service: string | undefined;
  readonly parameters: Parameters;
}

/** An item of a text: the parameters that it replaces, for the subjects that it selects. */
export interface Override {
  readonly host: string;
  readonly parameters: Readonly<Record<string, string>>;
  /** `at` is the address of the subject. */
  readonly selects: (subject: Configurable, at: HostAndPort) => boolean;
}

const ANY_HOST = "0.0.0.0";

/** Parses a text. Throws an `Error` with the reason if it is malformed. */
export function parseConfigurators(text: string): readonly Override[] {
  const document = parseDocument(text);
  const header = readHeader(document);
  const { configs, scope } = document;
  if (isPresent(configs) && !Array.isArray(configs)) throw new Error("configs must be a list");
  const isApplication = scope === "application";
  const key = textOf(document["key"], "key");
  const items = ((configs ?? []) as unknown[]).flatMap((item, index) => {
    const at = `configs[${index}]`;
    if (!key) throw new Error("it has no key");
    return parseItem(fieldsOf(item, at), at, { ...header, key, isApplication });
  });
  // The last item counts: one for an address is applied after those for all.
  return items.sort((a, b) => (a.host < b.host ? -1 : a.host > b.host ? 1 : priorityOf(a) - priorityOf(b)));
}

const priorityOf = ({ parameters }: Override): number => Number(parameters["priority"] ?? 0) || 0;

interface Head extends ReturnType<typeof readHeader> {
  readonly key: string;
  readonly isApplication: boolean;
}

function parseItem(item: Fields, at: string, { key, isApplication, version = "", enabled }: Head): Override[] {
  const given = Object.entries(fieldsOf(item["parameters"], `${at}.parameters`));
  if (given.length === 0) throw new Error(`${at} has no parameters`);
  if (given.some(([, value]) => Object(value) === value)) throw new Error(`${at}.parameters must be texts or numbers`);
  const parameters = Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
  const { weight } = parameters;
  if (weight?.trim() && weightIn(new Map([["weight", weight]])) === undefined)
    throw new Error(`${at}.parameters.weight must be an integer from 0 to 1,000,000, not ${JSON.stringify(weight)}`);
  const type = textOf(item["type"], `${at}.type`) ?? "general";
  if (!(type === "general" ? enabled : booleanOf(item["enabled"], false))) return [];
  const side = textOf(item["side"], `${at}.side`);
  const addresses = listOf(item, "addresses", at) ?? [ANY_HOST];
  const providers = (listOf(item, "providerAddresses", at) ?? (side === "provider" ? addresses : undefined))?.map(
    splitPort,
  );
  const applications = isApplication ? [key] : (listOf(item, "applications", at) ?? ["*"]);
  const services = isApplication ? (listOf(item, "services", at) ?? ["*"]) : [key];
  const matches =
    version.startsWith("v3.0") && isPresent(item["match"]) ? parseMatch(item["match"], `${at}.match`) : [];
  const conditions = version.startsWith("v3.0") ? [] : conditionsIn(parameters);
  return addresses.map((address) => {
    const { host } = splitPort(address);
    return {
      host,
      parameters,
      selects: (subject, at) =>
        subject.side === side &&
        (host === ANY_HOST || host === splitPort(subject.own).host) &&
        (providers?.some((one) => isAddressOf(at, one)) ?? true) &&
        applications.some((one) => one === "*" || one === subject.application) &&
        services.some((one) => one === "*" || one === subject.service) &&
        [...matches, ...conditions].every((test) => test(subject)),
    };
  });
}

function listOf(item: Fields, name: string, at: string): readonly string[] | undefined {
  const texts = textsOf(item[name], `${at}.${name}`);
  return texts?.length === 0 ? undefined : texts;
}

function isAddressOf(own: HostAndPort, { host, port }: HostAndPort): boolean {
  if (host !== ANY_HOST && host !== own.host) return false;
  return port === undefined || port === own.port || (host === ANY_HOST && port === "*");
}

type Test = (subject: Configurable) => boolean;

/** The parsers of the parts of a match. */
const PARTS: Readonly<Record<string, (given: unknown, at: string) => Test>> = {
  address: (given, at) => addressMatch(given, at, "own", "own"),
  providerAddress: (given, at) => addressMatch(given, at, "address", "host"),
  service: (given, at) => oneOf(given, at, ({ service }) => service),
  app: (given, at) => oneOf(given, at, ({ application }) => application),
  param(given, at) {
    if (!Array.isArray(given)) throw new Error(`${at} must be a list`);
    const all = given.map((one, index) => parameterMatch(one, `${at}[${index}]`));
    return ({ parameters }) => all.every((test) => test(parameters));
  },
};

/** Parses the member `match`, all of whose parts must hold. */
function parseMatch(given: unknown, at: string): readonly Test[] {
  const fields = fieldsOf(given, at);
  const parts = Object.entries(PARTS).filter(([name]) => isPresent(fields[name]));
  return parts.map(([name, parse]) => parse(fields[name], `${at}.${name}`));
}

type Place = "own" | "address" | "host";

/** Parses the match of an address. Java calls a CIDR, which is one of hosts, `cird`. */
function addressMatch(given: unknown, at: string, address: Place, host: Place): Test {
  const { cird, wildcard, exact } = fieldsOf(given, at);
  if (isPresent(cird)) {
    const test = addressTest(String(cird));
    return (subject) => test(subject[host], "");
  }
  if (isPresent(wildcard)) {
    const test = wildcard === ANY_HOST ? () => true : globTest(String(wildcard));
    return (subject) => test(subject[address]);
  }
  if (!isPresent(exact)) throw new Error(`${at} must have one of cird, wildcard, exact`);
  const wanted = splitPort(String(exact));
  return (subject) => {
    const { host, port } = splitPort(subject[address]);
    return host === wanted.host && port === wanted.port;
  };
}

function oneOf(given: unknown, at: string, read: (subject: Configurable) => string | undefined): Test {
  const { oneof } = fieldsOf(given, at);
  if (!Array.isArray(oneof)) throw new Error(`${at}.oneof must be a list`);
  const tests = oneof.map((one, index) => textMatch(one, `${at}.oneof[${index}]`));
  return (subject) => tests.some((test) => test(read(subject)));
}

/** Before v3.0 parameters whose names begin with a tilde are conditions. */
function conditionsIn(parameters: Readonly<Record<string, string>>): readonly Test[] {
  return Object.entries(parameters).flatMap(([name, text]): Test[] =>
    name.startsWith("~") && text !== "*" ? [(subject) => subject.parameters.get(name.slice(1)) === text] : [],
  );
}

/** Returns the parameters that the items replace, the last one winning. */
export function overridesOf(items: readonly Override[], subject: Configurable): ReadonlyMap<string, string> {
  const at = splitPort(subject.address);
  const selected = items
    .filter(({ selects }) => selects(subject, at))
    .flatMap(({ parameters }) => Object.entries(parameters));
  return new Map(selected);
}

/** Parameters that consumers in Java apply, which have no effect here. */
const UNSUPPORTED = /(?:^|\.)(?:cluster|loadbalance|mock)$/;

/**
 * Reads `timeout` and `retries` for a method, which `greet.timeout` sets before `timeout`. The method `Greet` is also called
 * `greet`, as in Java. Texts that are not integers are reported, and set nothing, like a timeout of 0.
 */
export function callSettingsIn(
  parameters: Parameters,
  method: string,
  warn: (problem: string) => void,
): { readonly timeoutMs: number | undefined; readonly retries: number | undefined } {
  for (const name of parameters.keys())
    if (UNSUPPORTED.test(name)) warn(`the parameter ${name} of dynamic configuration is not supported`);
  const integerOf = (parameter: string): number | undefined => {
    const names = [`${method}.${parameter}`, `${javaName(method)}.${parameter}`, parameter];
    const name = names.find((one) => parameters.get(one)?.trim());
    if (name === undefined) return undefined;
    const value = Number(parameters.get(name));
    if (Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value;
    warn(
      `the parameter ${name} of dynamic configuration must be an integer, not ${JSON.stringify(parameters.get(name))}`,
    );
    return undefined;
  };
  const [timeoutMs = 0, retries] = [integerOf("timeout"), integerOf("retries")];
  return { timeoutMs: timeoutMs > 0 ? timeoutMs : undefined, retries: retries && Math.max(retries, 0) };
}

/** Returns the weight that parameters set; `undefined` if they set none, or an invalid one. */
export function weightIn(parameters: ReadonlyMap<string, string>): number | undefined {
  const weight = Number(parameters.get("weight")?.trim() || Number.NaN);
  return Number.isInteger(weight) && weight >= 0 && weight <= 1e6 ? weight : undefined;
}
