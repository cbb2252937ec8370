/**
 * JSON text as Dubbo for Java writes it. A `long` or a `BigDecimal` is a number with all its digits, which `JSON.parse` would
 * round; and keys of a map that are whole numbers have no quotes. Both are put between quotes first.
 */
import type { JsonValue } from "@bufbuild/protobuf";

/** Shorter numbers lose nothing. */
const MANY_DIGITS = /[0-9.]{16}/;
const BARE_KEY = /[{,]\s*-?[0-9]+\s*:/;
/** More digits than these say nothing about a number of JavaScript. */
const SIGNIFICANT_DIGITS = 17;
const NUMBER_CHARACTER = /[0-9.eE+-]/;
const QUOTE = '"';

/** The value of JSON text, in which numbers that would lose digits are strings. */
export function parseExactJson(text: string): JsonValue {
  return JSON.parse(MANY_DIGITS.test(text) || BARE_KEY.test(text) ? quoteNumbers(text) : text) as JsonValue;
}

function quoteNumbers(text: string): string {
  let quoted = "";
  let done = 0;
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i] as string;
    if (character === QUOTE) i = endOfString(text, i);
    else if (character === "-" || (character >= "0" && character <= "9")) {
      const end = endOfNumber(text, i);
      const number = text.slice(i, end);
      if (losesDigits(number) || isKey(text, end)) {
        quoted += `${text.slice(done, i)}"${number}"`;
        done = end;
      }
      i = end - 1;
    }
  }
  return quoted + text.slice(done);
}

/** Whether what ends there is followed by a colon. */
function isKey(text: string, end: number): boolean {
  let next = end;
  while (text[next] === " " || text[next] === "\n" || text[next] === "\r" || text[next] === "\t") next += 1;
  return text[next] === ":";
}

function losesDigits(number: string): boolean {
  if (/^-?[0-9]+$/.test(number)) return !Number.isSafeInteger(Number(number));
  const [mantissa = ""] = number.split(/[eE]/, 1);
  return mantissa.replace(/^-?0*\.?0*/, "").replace(".", "").length > SIGNIFICANT_DIGITS;
}

function endOfNumber(text: string, start: number): number {
  let end = start + 1;
  while (end < text.length && NUMBER_CHARACTER.test(text[end] as string)) end += 1;
  return end;
}

/** Where the string that starts there ends. */
function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i += 1) {
    if (text[i] === QUOTE) return i;
    if (text[i] === "\\") i += 1;
  }
  return text.length;
}
