/**
 * Checks for files that the compiler cannot parse: files with syntax errors, and files nested too deeply for its stack.
 */
import { type SourceFile, ts } from "ts-morph";
import type { Problems } from "../model/diagnostics.ts";

export const TOO_DEEP = "this is nested too deeply for the compiler; declare parts of it under names of their own";

/** Reports the compiler's syntax errors. Returns true if there are none. */
export function checkSyntax(file: SourceFile, problems: Problems): boolean {
  const { parseDiagnostics: broken = [] } = file.compilerNode as { parseDiagnostics?: ts.DiagnosticWithLocation[] };
  for (const { start, messageText } of broken) {
    problems.errorAt(file, start, ts.flattenDiagnosticMessageText(messageText, " "));
  }
  return broken.length === 0;
}

/** Calls `read`. If the compiler's stack overflows, reports an error and returns `undefined`. */
export function readDeep<T>(file: SourceFile, problems: Problems, read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    // The deep nesting may be in an imported file.
    const places = file.getProject().getSourceFiles().map(deepest);
    const place = places.reduce((a, b) => (b.depth > a.depth ? b : a));
    problems.errorAt(place.file, place.offset, TOO_DEEP);
    return undefined;
  }
}

/** Finds the most deeply nested position of a file, without recursion. */
function deepest(file: SourceFile): { file: SourceFile; offset: number; depth: number } {
  const found = { file, offset: 0, depth: 0 };
  const open: { node: ts.Node; depth: number }[] = [{ node: file.compilerNode, depth: 0 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth } = next;
    if (depth > found.depth) Object.assign(found, { offset: node.getStart(file.compilerNode), depth });
    ts.forEachChild(node, (child) => {
      open.push({ node: child, depth: depth + 1 });
    });
  }
  return found;
}
