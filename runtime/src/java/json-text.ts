/**
 * Parser for JSON text as Dubbo for Java writes it. A `long` or a `BigDecimal` is a number with all its digits, which
 * `JSON.parse` would round, and integer keys of a map have no quotes. Such text is rewritten before it is parsed.
 */
import type { JsonValue } from "@bufbuild/protobuf";
import { Cost } from "./cost.ts";

/** A number of JSON text that a JavaScript number cannot represent. It is not accepted for a string. */
export class ExactNumber {
  readonly #text: string;

  constructor(text: string) {
    this.#text = text;
  }

  toString(): string {
    return this.#text;
  }
}

/** Shorter numbers without an exponent are exact: a double holds any 15 digits. */
const LONG_NUMBER = /[0-9.]{16}|[0-9][eE]/;
const BARE_KEY = /[{,]\s*-?[0-9]+\s*:/;
const NUMBER_CHARACTERS = /[0-9.eE+-]*/y;
const QUOTATION_MARK = '"';
/** Marks that tell strings from exact numbers while both are strings. */
const STRING_MARK = "'";
const NUMBER_MARK = "#";

/** The value of JSON text, in which numbers that would lose digits are instances of {@link ExactNumber}. */
export function parseExactJson(text: string, cost: Cost = new Cost()): JsonValue {
  if (text.length > MIN_COUNTED_LENGTH) countValues(text, 0, cost);
  return parseCountedJson(text);
}

/**
 * A parser for the parts of one large text, which are an array or object each: it does as {@link parseExactJson} does, and
 * counts the values of all parts together.
 */
export function createPartParser(cost: Cost): (text: string) => JsonValue {
  return (text) => {
    // The brackets of a part are not in the text.
    countValues(text, 1, cost);
    return parseCountedJson(text);
  };
}

function parseCountedJson(text: string): JsonValue {
  if (!LONG_NUMBER.test(text) && !BARE_KEY.test(text)) return JSON.parse(text) as JsonValue;
  const quoted = quoteKeys(text, false);
  if (quoted !== undefined) return JSON.parse(quoted) as JsonValue;
  return JSON.parse(quoteKeys(text, true) ?? text, (_key, value: unknown) => {
    if (typeof value !== "string") return value;
    return value.startsWith(NUMBER_MARK) ? new ExactNumber(value.slice(1)) : value.slice(1);
  }) as JsonValue;
}

/** Shorter text has fewer values than the limits. */
const MIN_COUNTED_LENGTH = 256 * 1024;

/**
 * Counts the values of text from an index on before they are made, which takes far longer. Text that is not JSON may
 * pass: the parser refuses it.
 */
function countValues(text: string, start: number, cost: Cost): void {
  for (let i = start; i < text.length; i += 1) {
    const character = text.charCodeAt(i);
    if (character === 0x22) i = closingQuote(text, i);
    else if (character === 0x2c) cost.addValues(1);
    else if (character === 0x5b || character === 0x7b) cost.addContainer();
  }
}

/**
 * Puts quotes around keys and, with `exact`, around numbers that would lose digits; then it also marks strings, so that
 * the two can be told apart. Without `exact`, returns nothing for text with such numbers.
 */
function quoteKeys(text: string, exact: boolean): string | undefined {
  const parts: string[] = [];
  let done = 0;
  const replace = (start: number, end: number, part: string): void => {
    parts.push(text.slice(done, start), part);
    done = end;
  };
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i] as string;
    if (character === QUOTATION_MARK) {
      const end = closingQuote(text, i);
      if (exact && !isKey(text, end + 1)) replace(i, i + 1, QUOTATION_MARK + STRING_MARK);
      i = end;
    } else if (character === "-" || (character >= "0" && character <= "9")) {
      const end = endOfNumber(text, i);
      const number = text.slice(i, end);
      if (isKey(text, end)) replace(i, end, QUOTATION_MARK + number + QUOTATION_MARK);
      else if (isNumber(number) && losesDigits(number)) {
        if (!exact) return undefined;
        replace(i, end, QUOTATION_MARK + NUMBER_MARK + number + QUOTATION_MARK);
      }
      i = end - 1;
    }
  }
  return parts.join("") + text.slice(done);
}

/** Reports whether a colon follows. */
function isKey(text: string, end: number): boolean {
  let next = end;
  while (text[next] === " " || text[next] === "\n" || text[next] === "\r" || text[next] === "\t") next += 1;
  return text[next] === ":";
}

/** Reports whether the text is a number. The parser refuses anything else. */
function isNumber(text: string): boolean {
  return /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/.test(text);
}

/** Reports whether a double loses digits of the number. Integers beyond 2^53 always count as losing some. */
function losesDigits(text: string): boolean {
  const number = Number(text);
  if (/^-?[0-9]+$/.test(text)) return !Number.isSafeInteger(number);
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

function endOfNumber(text: string, start: number): number {
  NUMBER_CHARACTERS.lastIndex = start + 1;
  NUMBER_CHARACTERS.test(text);
  return NUMBER_CHARACTERS.lastIndex;
}

/** The position of the closing quote of a string, or the end of the text. */
function closingQuote(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i += 1) {
    if (text[i] === QUOTATION_MARK) return i;
    if (text[i] === "\\") i += 1;
  }
  return text.length;
}
