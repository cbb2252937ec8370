/**
 * Comments of generated code. The author's text is escaped, so that it cannot become a tag or a directive or end the
 * comment.
 */

/** The documentation of a declaration in a proto file or a contract. */
export interface Documented {
  /** Its kind and full name, such as `service greet.v1.GreetService`. */
  readonly origin: string;
  readonly comment: readonly string[];
  /** True if the declaration or one that contains it is deprecated. */
  readonly deprecated: boolean;
  /** The replacement to use. */
  readonly deprecation?: string;
}

/** Prints the JSDoc block of a declaration: the author's text, the origin, and the tag `@deprecated` if it applies. */
export function describe({ origin, comment, deprecated, deprecation = "" }: Documented, indent = ""): string {
  const words = comment.length > 0 ? [...comment, ""] : [];
  const tags = [`@generated from ${origin}`, ...(deprecated ? [deprecatedTag(deprecation)] : [])];
  return jsDoc([...words, ...tags], indent);
}

/**
 * Prints the JSDoc block of a further declaration for the same descriptor, such as a constant. It is empty unless the
 * descriptor is deprecated, because the author's text and the origin are in the block of the interface.
 */
export function describeAgain({ deprecated, deprecation = "" }: Documented, indent = ""): string {
  return deprecated ? jsDoc([deprecatedTag(deprecation)], indent) : "";
}

function deprecatedTag(deprecation: string): string {
  return `@deprecated ${deprecation}`.trimEnd();
}

/** Prints a JSDoc block with the given lines. They are escaped, so that none of them can end the block. */
export function jsDoc(lines: readonly string[], indent = ""): string {
  const [only = ""] = lines;
  if (lines.length === 1 && !only.startsWith("@")) return `${indent}/** ${closed(only)} */`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${closed(line)}`.trimEnd()), `${indent} */`].join("\n");
}

/**
 * Characters to remove: the control characters of C0 and C1, which terminals interpret, and the embeddings, overrides
 * and isolates of the bidirectional algorithm, which can make source code look different from what it does
 * (CVE-2021-42574).
 */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches characters to remove
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

/** Escapes an author's text so that it contains no tag: TypeScript accepts `@word` in the middle of a line. */
export function prose(line: string): string {
  return line.replace(controls, "").replace(/(?<=^|\s)@(?=\S)/g, "\\@");
}

/** Matches lines that need escapes. Most lines do not match, so one test is enough for them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern matches lines to escape
const suspicious = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]|\*\/|source(?:Mapping)?URL/;

/** Escapes a line so that it stays one line of one comment and contains no source map directive. */
function closed(line: string): string {
  if (!suspicious.test(line)) return line;
  return line
    .replace(/[\n\r\u2028\u2029]/g, " ")
    .replace(controls, "")
    .replaceAll("*/", "*\\/")
    .replace(/([#@]\s*)(?=source(?:Mapping)?URL)/g, "$1\\");
}

/**
 * Prints lines as line comments. The space after the slashes keeps a leading slash or hash of the author's text from
 * forming a directive.
 */
export function lineComments(lines: readonly string[]): string[] {
  return lines.map((line) => `// ${closed(line)}`.trimEnd());
}
