/**
 * JSON text with numbers of any size. Java writes a `long` or a `BigDecimal` as a number with all its digits; `JSON.parse`
 * would round it. So numbers that a number of JavaScript cannot hold are put between quotes first.
 */
import type { JsonValue } from "@bufbuild/protobuf";

/** Shorter numbers lose nothing. */
const MANY_DIGITS = /[0-9.]{16}/;
/** More digits than these say nothing about a number of JavaScript. */
const SIGNIFICANT_DIGITS = 17;
const NUMBER_CHARACTER = /[0-9.eE+-]/;
const QUOTE = '"';

/** The value of JSON text, in which numbers that would lose digits are strings. */
export function parseExactJson(text: string): JsonValue {
  return JSON.parse(MANY_DIGITS.test(text) ? quoteLongNumbers(text) : text) as JsonValue;
}

function quoteLongNumbers(text: string): string {
  let quoted = "";
  let done = 0;
  for (let i = 0; i < text.length; i += 1) {
    const character = text[i] as string;
    if (character === QUOTE) i = endOfString(text, i);
    else if (character === "-" || (character >= "0" && character <= "9")) {
      const end = endOfNumber(text, i);
      const number = text.slice(i, end);
      if (losesDigits(number)) {
        quoted += `${text.slice(done, i)}"${number}"`;
        done = end;
      }
      i = end - 1;
    }
  }
  return quoted + text.slice(done);
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
