/** The service without a proto file on the server of triple-es, equivalent to PlainServiceImpl.java. */
import { JavaException, typed } from "triple-es-dubbo/java";
import type { User } from "./contract/plain-service.ts";
import { AddressClass, type PlainServiceHandler } from "./gen/plain-service_triple.ts";

const DAY_MS = 86_400_000;

/** Creates the service, which stores one note. */
export function createPlainService(): PlainServiceHandler {
  let noted: string | null = null;
  return {
    greet: (name) => greetingOf(name),
    greetTimes: (name, times) => Array.from({ length: times }, () => greetingOf(name)).join(" "),
    primitives: (a, b, c, d, e, f, g, h) => [a, b, c, d, e, f, g, h].join(" "),
    increment: (value) => value + 1,
    next: (value) => value + 1n,
    half: (value) => value / 2,
    not: (value) => !value,
    boxedIncrement: (value) => (value === null ? null : value + 1),
    boxedNext: (value) => (value === null ? null : value + 1n),
    reverse: (values) => values.toReversed(),
    nextAll: (values) => values.map((value) => value + 1n),
    upper: (values) => new Set([...values].map((value) => value.toUpperCase())),
    lengths: (values) => new Map([...values].map(([key, value]) => [key, value.length])),
    names: (users) => new Map(users.map(({ id, name }) => [id, name])),
    nextDay: (day) => new Date(day.getTime() + DAY_MS),
    reverseBytes: (bytes) => bytes.toReversed(),
    sortInts: (values) => values.toSorted((a, b) => a - b),
    sortStrings: (values) => values.toSorted(),
    total: (amounts) => sumOf(amounts),
    promote: (level) => (level === "NOVICE" ? "EXPERT" : level),
    birthday: (user) => ({ ...user, age: user.age + 1 }),
    boss: (name) => ownManager(name),
    // The class of an object is unknown if the declared type is any.
    echo: (value) => (isAddress(value) ? typed({ class: () => AddressClass }, value) : value),
    nothing: () => null,
    note(text) {
      noted = text;
    },
    noted: () => noted,
    fail(message, reason) {
      throw new JavaException("com.example.interop.PlainException", message, { fields: { reason } });
    },
    failUnchecked(message) {
      throw new JavaException("java.lang.IllegalStateException", message);
    },
  };
}

const greetingOf = (name: string): string => `Hello, ${name}!`;

/** Returns the sum of decimal numbers, with as many decimal digits as the longest of them. */
function sumOf(amounts: readonly string[]): string {
  const places = Math.max(0, ...amounts.map((amount) => amount.split(".")[1]?.length ?? 0));
  const units = amounts.map((amount) => {
    const [whole = "", fraction = ""] = amount.split(".");
    return BigInt(whole + fraction.padEnd(places, "0"));
  });
  const digits = String(units.reduce((sum, unit) => sum + unit, 0n)).padStart(places + 1, "0");
  return places === 0 ? digits : `${digits.slice(0, -places)}.${digits.slice(-places)}`;
}

function ownManager(name: string): User {
  const boss: User = {
    name,
    age: 0,
    id: 0n,
    score: null,
    active: false,
    weight: 0,
    level: null,
    balance: null,
    born: null,
    avatar: null,
    address: null,
    tags: null,
    places: null,
    manager: null,
  };
  boss.manager = boss;
  return boss;
}

const isAddress = (value: unknown): boolean => typeof value === "object" && value !== null && "street" in value;
