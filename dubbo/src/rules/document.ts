/**
 * Documents of rules: YAML as SnakeYAML, the parser of Dubbo for Java, reads it (YAML 1.1), and the members that all kinds
 * of rules have.
 */
import { Composer, type CST, Lexer, Parser } from "yaml";

/** A mapping of a document. */
export type Fields = Readonly<Record<string, unknown>>;

/** The maximum length of a text, in characters: every client of a config center may write one. */
const MAX_LENGTH = 131_072;

/** The maximum number of symbols of a text, which take microseconds each: words, punctuation, spaces and line ends. */
const MAX_SYMBOLS = 32_768;

/** The maximum depth of a text: one that exhausts the stack may stop the process, in V8's compiler of expressions. */
const MAX_RULE_DEPTH = 64;

/** The members that all kinds of rules have. `runtime`, `priority`, `scope` and `key` have no effect, as in Dubbo 3. */
export interface RuleHeader {
  readonly version: string | undefined;
  readonly enabled: boolean;
  readonly force: boolean;
}

/** Parses the text of a rule, which may be empty. Throws an `Error` with the reason if it is not YAML with a mapping at its root. */
export function parseDocument(text: string): Fields {
  if (text.trim() === "") return {};
  if (text.length > MAX_LENGTH) throw new Error(`it is longer than ${MAX_LENGTH} characters`);
  const composer = new Composer({ version: "1.1", uniqueKeys: false });
  const [document, ...others] = composer.compose(tokensOf(text), true, text.length);
  const [cause] = document?.errors ?? [];
  if (cause !== undefined) {
    const line = text.slice(0, cause.pos[0]).split("\n").length;
    throw new Error(`it is not YAML: ${cause.message} at line ${line}`, { cause });
  }
  if (others.length > 0) throw new Error("it has more than one document");
  return fieldsOf(document?.toJS(), "the rule");
}

/** Parses a text up to the first error: there may be one at each character. */
function* tokensOf(text: string): Generator<CST.Token> {
  const parser = new Parser();
  let symbols = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (++symbols > MAX_SYMBOLS) throw new Error(`it has more than ${MAX_SYMBOLS} symbols`);
    for (const token of parser.next(lexeme)) {
      yield token;
      if (token.type === "error") return;
    }
    if (parser.stack.length > MAX_RULE_DEPTH) throw new Error(`it is nested more than ${MAX_RULE_DEPTH} levels deep`);
  }
  yield* parser.end();
}

/** Reads the common members. Throws an `Error` if one is invalid. */
export function readHeader(rule: Fields): RuleHeader {
  for (const name of ["scope", "key"]) textOf(rule[name], name);
  const priority = JSON.stringify(rule["priority"] ?? 0);
  if (!/^"?[+-]?[0-9]{1,9}"?$/.test(priority)) throw new Error(`priority must be an integer, not ${priority}`);
  return {
    version: textOf(rule["configVersion"], "configVersion"),
    enabled: booleanOf(rule["enabled"], true),
    force: booleanOf(rule["force"], false),
  };
}

/** Reads a boolean as Java's `Boolean.parseBoolean` does. */
export function booleanOf(value: unknown, ifAbsent: boolean): boolean {
  return isPresent(value) ? String(value).toLowerCase() === "true" : ifAbsent;
}

/** Returns a text; `undefined` for an absent one. Throws an `Error` for another value. */
export function textOf(value: unknown, name: string): string | undefined {
  if (!isPresent(value)) return undefined;
  if (typeof value === "string") return value;
  throw new Error(`${name} must be a text, not ${JSON.stringify(value)}: put it in quotes`);
}

/** Returns the texts of a list. `undefined` for a value that is not a list, which Dubbo ignores. */
export function textsOf(value: unknown, name: string): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.map((one, index) => {
    if (typeof one === "object") throw new Error(`${name}[${index}] must be a text: put it in quotes`);
    return String(one);
  });
}

/** Returns a mapping. Throws an `Error` for another value. */
export function fieldsOf(value: unknown, name: string): Fields {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Fields;
  throw new Error(`${name} must be a mapping, not ${value === undefined ? "empty" : JSON.stringify(value)}`);
}

export function isPresent(value: unknown): boolean {
  return value !== undefined && value !== null;
}
