/**
 * Examples of text that matches a pattern, as forms of pages contain: each repetition as short as it may be, and the first
 * of alternatives.
 */

/** The first of them that matches is the example of a class such as `[^a-f]` or `\d`. */
const CHARACTERS: readonly string[] = [..."aA0bB1cC2-_. /:@xX9~!#%&+=,;?"];

/** An escape, a class, or a character. */
const ATOM = /\\(?:[pPux]\{[^}]*\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|\[(?:\\.|[^\]\\])*\]|./suy;
const GROUP = /\((?:\?(?::|<[^=!>][^>]*>))?/y;
const QUANTIFIER = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})?\??/y;
/** Assertions have no text. */
const ASSERTION = /^(?:[$^]|\\[bB])$/;
/** Maximum number of repetitions. */
const MAX_REPEAT = 1_000;

/**
 * Returns a text that matches most patterns, and which is to be tested: look-around and references are not supported. Each
 * repetition is `extra` longer than it must be, if it may be.
 */
export function exampleOfPattern(pattern: string, extra: number): string {
  let at = 0;
  const next = (token: RegExp): RegExpExecArray | null => {
    token.lastIndex = at;
    const found = token.exec(pattern);
    at += found?.[0].length ?? 0;
    return found;
  };

  function alternatives(): string {
    const first = sequence();
    while (pattern[at] === "|") {
      at++;
      sequence();
    }
    return first;
  }

  function sequence(): string {
    let text = "";
    while (at < pattern.length && pattern[at] !== "|" && pattern[at] !== ")") {
      const one = atom();
      text += one.repeat(repetitions());
    }
    return text;
  }

  function atom(): string {
    if (next(GROUP) !== null) {
      const text = alternatives();
      at++;
      return text;
    }
    const token = next(ATOM)?.[0] ?? "";
    if (ASSERTION.test(token)) return "";
    if (token.length === 1 && token !== ".") return token;
    const expression = new RegExp(`^${token}$`, "u");
    return CHARACTERS.find((character) => expression.test(character)) ?? token.replace(/^\\/, "");
  }

  function repetitions(): number {
    const [all = "", sign, least = "1", comma, most = ""] = next(QUANTIFIER) ?? [];
    if (all === "") return 1;
    const from = sign === undefined ? Number(least) : sign === "+" ? 1 : 0;
    const to = sign === "?" ? 1 : sign !== undefined || (comma && most === "") ? MAX_REPEAT : Number(most || least);
    return Math.min(from + extra, to, MAX_REPEAT);
  }

  return alternatives();
}
