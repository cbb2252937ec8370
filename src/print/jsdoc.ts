/** Comments of generated code, escaped so that an author's text stays text: no tag, directive or end of the comment. */

/** The documentation of a declaration in a proto file or a contract. */
export interface Documented {
  /** Its kind and full name, such as `service greet.v1.GreetService`. */
  readonly origin: string;
  readonly comment: readonly string[];
  /** Deprecated itself, or inside something deprecated. */
  readonly deprecated: boolean;
  /** The replacement to use. */
  readonly deprecation?: string;
}

/** The JSDoc block of a declaration: the author's text, the origin, and whether it is deprecated. */
export function describe({ origin, comment, deprecated, deprecation = "" }: Documented, indent = ""): string {
  const words = comment.length > 0 ? [...comment, ""] : [];
  const tags = [`@generated from ${origin}`, ...(deprecated ? [deprecatedTag(deprecation)] : [])];
  return jsDoc([...words, ...tags], indent);
}

/**
 * The JSDoc block where a declaration is printed again, as a constant for example: empty unless it is deprecated. Prose and
 * origin stand at the interfaces.
 */
export function describeAgain({ deprecated, deprecation = "" }: Documented, indent = ""): string {
  return deprecated ? jsDoc([deprecatedTag(deprecation)], indent) : "";
}

function deprecatedTag(deprecation: string): string {
  return `@deprecated ${deprecation}`.trimEnd();
}

/** A JSDoc block of the given lines, which cannot end it. */
export function jsDoc(lines: readonly string[], indent = ""): string {
  const [only = ""] = lines;
  if (lines.length === 1 && !only.startsWith("@")) return `${indent}/** ${closed(only)} */`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${closed(line)}`.trimEnd()), `${indent} */`].join("\n");
}

/**
 * Characters that are removed: control characters of C0 and C1, which steer terminals, and embeddings, overrides and
 * isolates of the bidirectional algorithm, which can make source code look otherwise than it is (CVE-2021-42574).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Keeps text of an author from being a tag: TypeScript accepts `@word` in mid-line. */
export function prose(line: string): string {
  return line.replace(controls, "").replace(/(?<=^|\s)@(?=\S)/g, "\\@");
}

/** Matches the few lines that need escapes, so that one test is enough for the others. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are looked for
const suspicious = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]|\*\/|source(?:Mapping)?URL/;

/** A line that stays one line of one comment, and names no source map to a debugger. */
function closed(line: string): string {
  if (!suspicious.test(line)) return line;
  return line
    .replace(/[\n\r\u2028\u2029]/g, " ")
    .replace(controls, "")
    .replaceAll("*/", "*\\/")
    .replace(/([#@]\s*)(?=source(?:Mapping)?URL)/g, "$1\\");
}

/** Lines as line comments. The space keeps a slash or a hash of the author's from becoming a directive. */
export function lineComments(lines: readonly string[]): string[] {
  return lines.map((line) => `// ${closed(line)}`.trimEnd());
}
