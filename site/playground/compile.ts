/**
 * The compiler of the playground: protobufjs parses the text of a proto file. Errors have the position of
 * the token that caused them, which protobufjs does not report.
 */
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt";
import protobuf from "protobufjs";
import { fileOf, NameError } from "./descriptor.ts";

/** An error of a proto file, with its position, which begins with 1. */
export class ProtoError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, source: string, offset: number) {
    super(message);
    const before = source.slice(0, offset).split("\n");
    this.line = before.length;
    this.column = (before.at(-1)?.length ?? 0) + 1;
  }
}

/** Compiles the text of a file of syntax `proto3` to its descriptor. Throws a {@link ProtoError}. */
export function compile(source: string, name: string): FileDescriptorProto {
  try {
    const { root, package: pkg, imports = [] } = parse(source);
    if (!/^\s*syntax\s*=\s*"proto3"/m.test(source)) throw new NameError('the syntax must be "proto3"', "syntax");
    for (const path of imports) {
      const known = protobuf.common.get(path)?.nested;
      if (known == null) throw new NameError(`"${path}" is not a file of the well-known types`, path);
      root.addJSON(known);
    }
    return fileOf(name, pkg, imports, pkg === undefined ? root : root.define(pkg));
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    throw new ProtoError(error.message.replace(/ \(line \d+\)$/, ""), source, offsetOf(error, source));
  }
}

function parse(source: string): protobuf.IParserResult {
  return protobuf.parse(source, new protobuf.Root(), { keepCase: true, alternateCommentMode: true });
}

/** The offset of the token that causes an error of protobufjs. */
function offsetOf(error: Error, source: string): number {
  const { message } = error;
  if (parseError(source) === message)
    return message.includes("'null'") ? source.trimEnd().length : endOf(message, source);
  const at = error instanceof NameError ? error.at : "";
  const found = source.search(new RegExp(`(?<![\\w.])${at.replaceAll(/[^\w]/g, "\\$&")}(?![\\w.])`));
  return Math.max(found, 0);
}

/** The offset of the last token of the shortest start of the text that has the same error. */
function endOf(message: string, source: string): number {
  const lines = source.split("\n");
  const upTo = (count: number): string => lines.slice(0, count).join("\n");
  const line = lines.findIndex((_, index) => parseError(upTo(index + 1)) === message);
  const start = line === 0 ? 0 : upTo(line).length + 1;
  let end = start;
  while (end < source.length && parseError(source.slice(0, end)) !== message) end++;
  const token = /^illegal .*?'([^']*)'/.exec(message)?.[1];
  // An element that is invalid as a whole begins its line.
  return token === undefined ? start + (lines[line] ?? "").search(/\S|$/) : end - token.length;
}

function parseError(source: string): string | undefined {
  try {
    parse(source);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}
