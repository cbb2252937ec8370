/** Comments of a proto file, indexed in one pass. */
import type { DescFile } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, type SourceCodeInfo_Location } from "@bufbuild/protobuf/wkt";
import { prose } from "../print/jsdoc.ts";

/** The path of a descriptor in its file, as field numbers and indexes (`SourceCodeInfo.Location.path`). */
export type SourcePath = readonly number[];

export interface Position {
  readonly line: number;
  readonly column: number;
}

/** Comments and positions of a proto file, from its `SourceCodeInfo`. */
export interface SourceText {
  /** The comment on a descriptor, as lines without comment signs. */
  comment(path: SourcePath): string[];
  /** The detached comments before a descriptor, which belong to no declaration. */
  detachedComments(path: SourcePath): string[][];
  /** The position at which a descriptor begins. Line and column are counted from 0. */
  position(path: SourcePath): Position | undefined;
}

const { number: serviceField } = FileDescriptorProtoSchema.field.service;
const { number: messageField } = FileDescriptorProtoSchema.field.messageType;
const { number: enumField } = FileDescriptorProtoSchema.field.enumType;

/** The parts of the source info to index in addition to comments on services. Most locations are never read. */
export interface Interests {
  readonly messages: boolean;
  readonly positions: boolean;
}

/**
 * Indexes the source info of a file. The plugin kit's own lookup scans all locations of the file for each descriptor.
 */
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

/** Returns the path of a service in its file. */
export function servicePath(index: number): SourcePath {
  return [serviceField, index];
}

function proseLines(location: SourceCodeInfo_Location | undefined): string[] {
  const leading = commentLines(location?.leadingComments ?? "");
  const trailing = commentLines(location?.trailingComments ?? "");
  return leading.length > 0 && trailing.length > 0 ? [...leading, "", ...trailing] : [...leading, ...trailing];
}

const lineBreaks = /\r\n|[\n\r\u2028\u2029]/;

/**
 * Returns the lines of a comment, without the space after each comment sign and without leading and trailing blank
 * lines. Extra stars at the beginning of a block comment, as in JSDoc, are removed.
 */
function commentLines(comment: string): string[] {
  if (comment === "") return [];
  const lines = comment
    .replace(/^\*+/, "")
    .split(lineBreaks)
    .map((line) => prose(line).replace(/^ /, "").trimEnd());
  const isText = (line: string): boolean => line !== "";
  return lines.slice(Math.max(lines.findIndex(isText), 0), lines.findLastIndex(isText) + 1);
}
