/** Comments of the proto file, found in one pass, and printed as JSDoc that means what the author wrote. */
import type { DescFile } from "@bufbuild/protobuf";
import {
  FileDescriptorProtoSchema,
  ServiceDescriptorProtoSchema,
  type SourceCodeInfo_Location,
} from "@bufbuild/protobuf/wkt";

const { number: serviceField } = FileDescriptorProtoSchema.field.service;
const { number: methodField } = ServiceDescriptorProtoSchema.field.method;

/** The author's words on services and their methods, by position in the file, as lines without comment signs. */
export interface Comments {
  service(index: number): string[];
  method(serviceIndex: number, index: number): string[];
}

/** Indexes the comments of a file. The plugin kit's own search walks all locations of the file for each descriptor. */
export function indexComments(file: DescFile): Comments {
  const locations = new Map<string, SourceCodeInfo_Location>();
  for (const location of file.proto.sourceCodeInfo?.location ?? []) {
    const { path } = location;
    const isService = path.length === 2 && path[0] === serviceField;
    const isMethod = path.length === 4 && path[0] === serviceField && path[2] === methodField;
    if (isService || isMethod) {
      locations.set(path.join(), location);
    }
  }
  return {
    service: (index) => proseLines(locations.get([serviceField, index].join())),
    method: (serviceIndex, index) => proseLines(locations.get([serviceField, serviceIndex, methodField, index].join())),
  };
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

/** A JSDoc block of the given lines. */
export function jsDoc(lines: readonly string[], indent = ""): string {
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`].join("\n");
}

function proseLines(location: SourceCodeInfo_Location | undefined): string[] {
  const leading = commentLines(location?.leadingComments ?? "");
  const trailing = commentLines(location?.trailingComments ?? "");
  return leading.length > 0 && trailing.length > 0 ? [...leading, "", ...trailing] : [...leading, ...trailing];
}

/**
 * The lines of a comment, without the space after each comment sign and without blank lines around them. A block that
 * begins as JSDoc does has a star to spare.
 */
function commentLines(comment: string): string[] {
  const lines = comment
    .replace(/^\*+/, "")
    .split(/\r\n|[\n\r\u2028\u2029]/)
    .map((line) => harmless(line.replace(/^ /, "").trimEnd()));
  const isText = (line: string): boolean => line !== "";
  return lines.slice(Math.max(lines.findIndex(isText), 0), lines.findLastIndex(isText) + 1);
}

/** Keeps prose prose: it cannot end the JSDoc block, and an `@word` in it (TypeScript accepts it in mid-line) is no tag. */
function harmless(line: string): string {
  return line.replaceAll("*/", "*\\/").replace(/(?<=^|\s)@(?=\S)/g, "\\@");
}
