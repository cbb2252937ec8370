/** Comments of the proto file, found in one pass, and printed as JSDoc that means what the author wrote. */
import type { DescFile } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, type SourceCodeInfo_Location } from "@bufbuild/protobuf/wkt";

/** Where a descriptor stands in its file, as numbers of fields and indexes. */
export type SourcePath = readonly number[];

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** What the compiler knows of the text of a proto file. */
export interface SourceText {
  /** The author's words on a descriptor, as lines without comment signs. */
  comment(path: SourcePath): string[];
  /** Comments that belong to nothing and stand before a descriptor. */
  detachedComments(path: SourcePath): string[][];
  /** Where something begins, counted from 0. */
  position(path: SourcePath): Position | undefined;
}

const { number: serviceField } = FileDescriptorProtoSchema.field.service;
const { number: messageField } = FileDescriptorProtoSchema.field.messageType;
const { number: enumField } = FileDescriptorProtoSchema.field.enumType;

/** What is wanted of the text beside the comments on services. Most locations are of no interest to anybody. */
export interface Interests {
  readonly messages: boolean;
  readonly positions: boolean;
}

/** Indexes the text of a file. The plugin kit's own search walks all locations of the file for each descriptor. */
export function indexSource(file: DescFile, wanted: Interests): SourceText {
  const locations = new Map<string, SourceCodeInfo_Location>();
  for (const location of file.proto.sourceCodeInfo?.location ?? []) {
    const [field] = location.path;
    const isCommented =
      location.leadingComments !== "" ||
      location.trailingComments !== "" ||
      location.leadingDetachedComments.length > 0;
    if ((isCommented || wanted.positions) && (wanted.messages || (field !== messageField && field !== enumField))) {
      locations.set(location.path.join(), location);
    }
  }
  return {
    comment: (path) => proseLines(locations.get(path.join())),
    detachedComments: (path) => (locations.get(path.join())?.leadingDetachedComments ?? []).map(commentLines),
    position: (path) => {
      const [line, column] = locations.get(path.join())?.span ?? [];
      return line === undefined || column === undefined ? undefined : { line, column };
    },
  };
}

/** The path of a service in its file. */
export function servicePath(index: number): SourcePath {
  return [serviceField, index];
}

/** What is declared in a proto file and documented wherever it is printed. */
export interface Documented {
  /** Its kind and full name, such as `service greet.v1.GreetService`. */
  readonly origin: string;
  readonly comment: readonly string[];
  /** Deprecated itself, or inside something deprecated. */
  readonly deprecated: boolean;
}

/** The JSDoc block of a declaration: the author's words, where it comes from, and whether it should still be used. */
export function describe({ origin, comment, deprecated }: Documented, indent = ""): string {
  const prose = comment.length > 0 ? [...comment, ""] : [];
  const tags = [`@generated from ${origin}`, ...(deprecated ? ["@deprecated"] : [])];
  return jsDoc([...prose, ...tags], indent);
}

/** A JSDoc block of the given lines, which cannot end it. */
export function jsDoc(lines: readonly string[], indent = ""): string {
  const [only = ""] = lines;
  if (lines.length === 1 && !only.startsWith("@")) return `${indent}/** ${closed(only)} */`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${closed(line)}`.trimEnd()), `${indent} */`].join("\n");
}

function proseLines(location: SourceCodeInfo_Location | undefined): string[] {
  const leading = commentLines(location?.leadingComments ?? "");
  const trailing = commentLines(location?.trailingComments ?? "");
  return leading.length > 0 && trailing.length > 0 ? [...leading, "", ...trailing] : [...leading, ...trailing];
}

/** What only steers terminals has no place in source code. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/g;

const lineBreaks = /\r\n|[\n\r\u2028\u2029]/;

/**
 * The lines of a comment, without the space after each comment sign and without blank lines around them. A block that
 * begins as JSDoc does has a star to spare.
 */
function commentLines(comment: string): string[] {
  if (comment === "") return [];
  const lines = comment
    .replace(/^\*+/, "")
    .split(lineBreaks)
    .map((line) => prose(line.replace(controls, "").replace(/^ /, "").trimEnd()));
  const isText = (line: string): boolean => line !== "";
  return lines.slice(Math.max(lines.findIndex(isText), 0), lines.findLastIndex(isText) + 1);
}

/** Keeps prose prose: an `@word` in it is no tag (TypeScript accepts them in mid-line). */
function prose(line: string): string {
  return line.replace(/(?<=^|\s)@(?=\S)/g, "\\@");
}

/** What few lines have, so that the others need no more than one look. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are looked for
const suspicious = /[\u0000-\u0008\u000a-\u001f\u007f\u2028\u2029]|\*\/|source(?:Mapping)?URL/;

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
