/**
 * Parser for JSON text as Dubbo for Java writes it. A `long` or a `BigDecimal` is a number with all its digits, which
 * `JSON.parse` would round, and integer keys of a map have no quotes.
 */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { decodeJsonText, setEntry } from "triple-es/internal";
import type { Cost } from "./cost.ts";
import { createRecord, ExactNumber, MAX_DIGITS } from "./type.ts";

/** Shorter numbers without an exponent are exact: a double holds any 15 digits. */
const LONG_NUMBER = /[0-9.]{16}|[0-9][eE]/;
const BARE_KEY = /[{,]\s*-?[0-9]+\s*:/;

/** The value of JSON text, in which numbers that would lose digits are instances of {@link ExactNumber}. */
export function parseExactJson(bytes: Uint8Array, cost: Cost): JsonValue {
  cost.addJson(bytes);
  const text = decodeJsonText(bytes);
  const isPlain = !LONG_NUMBER.test(text) && !BARE_KEY.test(text);
  return isPlain ? (JSON.parse(text) as JsonValue) : new Parser(text, cost).parse();
}

const isNumberCharacter = (character: string): boolean => character !== "" && "+-.0123456789Ee".includes(character);
const NUMBER_TEXT = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/;
const WHOLE_TEXT = /^-?[0-9]+$/;
const BARE_NAME = /-?[0-9]+/y;
const LITERALS: ReadonlyMap<string, JsonValue> = new Map<string, JsonValue>([
  ["t", true],
  ["f", false],
  ["n", null],
]);

/** Parses text that `JSON.parse` would round or refuse. The text is not nested deeply. */
class Parser {
  readonly #text: string;
  readonly #cost: Cost;
  #at = 0;

  constructor(text: string, cost: Cost) {
    this.#text = text;
    this.#cost = cost;
  }

  parse(): JsonValue {
    const value = this.#value();
    if (this.#next() !== "") throw this.#unexpected();
    return value;
  }

  #value(): JsonValue {
    const first = this.#next();
    if (first === "{") return this.#object();
    if (first === "[") return this.#array();
    if (first === '"') return this.#string();
    const literal = LITERALS.get(first);
    if (literal === undefined) return this.#number();
    const word = String(literal);
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected();
    this.#at += word.length;
    return literal;
  }

  #array(): JsonValue[] {
    const items: JsonValue[] = [];
    for (let more = this.#opens("]"); more; more = this.#continues("]")) items.push(this.#value());
    return items;
  }

  #object(): JsonObject {
    const object = createRecord() as JsonObject;
    for (let more = this.#opens("}"); more; more = this.#continues("}")) {
      // To add a member takes longer than in `JSON.parse`.
      this.#cost.add(1 / 2);
      const name = this.#next() === '"' ? this.#string() : this.#match(BARE_NAME);
      if (this.#next() !== ":") throw this.#unexpected();
      this.#at += 1;
      setEntry(object, name, this.#value());
    }
    return object;
  }

  /** Reads the opening bracket. Reports whether there are items. */
  #opens(end: string): boolean {
    this.#at += 1;
    if (this.#next() !== end) return true;
    this.#at += 1;
    return false;
  }

  /** Reads what follows an item. Reports whether there is another one. */
  #continues(end: string): boolean {
    const next = this.#next();
    if (next !== end && next !== ",") throw this.#unexpected();
    this.#at += 1;
    return next === ",";
  }

  #string(): string {
    const text = this.#text;
    let isPlain = true;
    let end = this.#at + 1;
    for (let unit = text.charCodeAt(end); unit !== 0x22; unit = text.charCodeAt(end)) {
      if (Number.isNaN(unit)) throw this.#unexpected();
      if (unit === 0x5c || unit < 0x20) isPlain = false;
      end += unit === 0x5c ? 2 : 1;
    }
    const start = this.#at;
    this.#at = end + 1;
    return isPlain ? text.slice(start + 1, end) : (JSON.parse(text.slice(start, end + 1)) as string);
  }

  #number(): JsonValue {
    const start = this.#at;
    let end = start;
    while (end - start <= MAX_DIGITS && isNumberCharacter(this.#text.charAt(end))) end += 1;
    if (end - start > MAX_DIGITS) throw new TypeError(`a number has more than ${MAX_DIGITS} digits`);
    const text = this.#text.slice(start, end);
    if (!NUMBER_TEXT.test(text)) throw this.#unexpected();
    this.#at = end;
    if (!LONG_NUMBER.test(text)) return Number(text);
    // To find out whether digits are lost takes as long as to read several other values.
    this.#cost.add(WHOLE_TEXT.test(text) ? 1 : 2);
    return losesDigits(text) ? (new ExactNumber(text) as unknown as JsonValue) : Number(text);
  }

  #match(expression: RegExp): string {
    expression.lastIndex = this.#at;
    const [found] = expression.exec(this.#text) ?? [];
    if (found === undefined) throw this.#unexpected();
    this.#at += found.length;
    return found;
  }

  /** Skips space. Returns the next character, empty at the end. */
  #next(): string {
    const text = this.#text;
    for (;;) {
      const unit = text.charCodeAt(this.#at);
      if (unit !== 0x20 && unit !== 0x0a && unit !== 0x0d && unit !== 0x09) return text.charAt(this.#at);
      this.#at += 1;
    }
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`the text is not JSON at position ${this.#at}`);
  }
}

/** Reports whether a double loses digits of the number. Integers beyond 2^53 always count as losing some. */
function losesDigits(text: string): boolean {
  const number = Number(text);
  if (WHOLE_TEXT.test(text)) return !Number.isSafeInteger(number);
  return !Number.isFinite(number) || normalize(text) !== normalize(String(number));
}

/** The canonical form of a number: its digits without leading and trailing zeros, and the power of ten. */
function normalize(text: string): string {
  const [mantissa = "", exponent = "0"] = text.replace(/^-/, "").split(/[eE]/);
  const [whole = "", fraction = ""] = mantissa.split(".");
  const digits = whole + fraction;
  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === "0") start += 1;
  while (end > start && digits[end - 1] === "0") end -= 1;
  if (start === end) return "0";
  return `${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`;
}
