/** The numbers of fields and enum values in a proto file, which a later version of the file must keep. */
import { ArgumentsError } from "../arguments.ts";
import { defaultJsonName } from "./proto-names.ts";

/** A field or an enum value. Its name in JSON identifies it. */
export interface Member {
  readonly name: string;
  readonly jsonName: string;
  /** The type with the label `repeated`; empty for an enum value. */
  readonly type: string;
}

/** A message or an enum in a proto file. */
export interface Numbers {
  readonly members: (Member & { readonly number: number })[];
  readonly reservedNumbers: Set<number>;
  readonly reservedNames: Set<string>;
}

/** The first of the numbers that protobuf reserves for itself, and the first after them. */
const OF_PROTOBUF = [19_000, 20_000] as const;

/**
 * Numbers members: known ones keep their number unless their type changes, others get one that no member ever had, from
 * `first` on. Returns the numbers in order, and the statements that reserve those of removed members.
 */
export function assignNumbers(
  members: readonly Member[],
  previous: Numbers | undefined,
  first: number,
): { numbers: number[]; reserved: string[] } {
  const { members: known, reservedNumbers, reservedNames } = previous ?? emptyNumbers();
  let next = Math.max(first - 1, ...reservedNumbers, ...known.map(({ number }) => number));
  const numbers = members.map(({ jsonName, type }) => {
    const same = known.find((one) => one.jsonName === jsonName && hasType(one, type));
    if (same !== undefined) return same.number;
    next = next + 1 === OF_PROTOBUF[0] ? OF_PROTOBUF[1] : next + 1;
    return next;
  });
  const names = new Set(members.map(({ name }) => name));
  const gone = known.filter(({ number }) => !numbers.includes(number));
  const oldNumbers = [...reservedNumbers, ...gone.map(({ number }) => number)].sort((a, b) => a - b);
  const oldNames = [...reservedNames, ...gone.map(({ name }) => name)].filter((name) => !names.has(name)).sort();
  const reserve = (all: readonly unknown[]): string[] => (all.length === 0 ? [] : [`reserved ${all.join(", ")};`]);
  return { numbers, reserved: [...reserve(oldNumbers), ...reserve(oldNames.map((name) => JSON.stringify(name)))] };
}

/** Reports whether a field can have the type without a new number. A message may get another name. */
function hasType(member: Member, type: string): boolean {
  const kindOf = (text: string): string =>
    tokensOf(text)
      .join(" ")
      .replace(/^(repeated )?[A-Z]\w*$/, "$1Message");
  return kindOf(member.type) === kindOf(type);
}

/** Reads the messages and enums of a file that the command wrote. Throws an `ArgumentsError` for other syntax. */
export function readNumbers(text: string, path: string): Map<string, Numbers> {
  const found = new Map<string, Numbers>();
  const scopes: string[] = [];
  let statement: string[] = [];
  for (const token of tokensOf(text)) {
    const isInOptions = statement.lastIndexOf("[") > statement.lastIndexOf("]");
    if (isInOptions || (token !== "{" && token !== "}" && token !== ";")) {
      statement.push(token);
      continue;
    }
    if (token === "{") {
      const [kind = "", name = ""] = statement;
      if (!["message", "enum", "service", "rpc"].includes(kind)) throw unreadable(path, statement);
      scopes.push([...scopes.slice(-1), name].join("."));
      if (kind === "message" || kind === "enum") found.set(scopes.at(-1) as string, emptyNumbers());
    } else if (token === "}") scopes.pop();
    const numbers = found.get(scopes.at(-1) ?? "");
    if (token === ";" && numbers !== undefined && !readStatement(statement, numbers)) throw unreadable(path, statement);
    statement = [];
  }
  return found;
}

function emptyNumbers(): Numbers {
  return { members: [], reservedNumbers: new Set(), reservedNames: new Set() };
}

function unreadable(path: string, statement: readonly string[]): ArgumentsError {
  const problem = `${path}: "${statement.join(" ")}" was not written by triple-es, which must read the numbers of fields`;
  return new ArgumentsError(`${problem}; remove it, or write to another file`);
}

/** Splits text into words, strings and punctuation, without line comments. */
function tokensOf(text: string): string[] {
  return (text.match(/\/\/.*|"(?:[^"\\\n]|\\.)*"|[\w.]+|\S/g) ?? []).filter((token) => !token.startsWith("//"));
}

/** Reads a statement of a message or an enum. Returns `false` for one that the command does not write. */
function readStatement(statement: readonly string[], numbers: Numbers): boolean {
  const [keyword, ...others] = statement;
  if (keyword === "reserved") {
    for (const token of others.filter((one) => one !== ",")) {
      if (token.startsWith('"')) numbers.reservedNames.add(JSON.parse(token));
      else if (/^\d+$/.test(token)) numbers.reservedNumbers.add(Number(token));
      else return false;
    }
    return true;
  }
  const equals = statement.indexOf("=");
  const name = statement[equals - 1];
  const number = Number(statement[equals + 1]);
  if (name === undefined || !Number.isInteger(number)) return false;
  // A type has a dot before its name if a part of the package is called google.
  const words = statement.slice(0, equals - 1).filter((token) => token !== "optional");
  const type = words.map((word) => word.replace(/^\./, ""));
  const json = statement.indexOf("json_name", equals);
  const jsonName =
    json > 0 ? JSON.parse(statement[json + 2] as string) : type.length > 0 ? defaultJsonName(name) : name;
  numbers.members.push({ name, jsonName, type: type.join(" "), number });
  return true;
}
