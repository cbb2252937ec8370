/**
 * Prints metadata with its fields, in `console.log` and `util.inspect` of Node, and of Deno and Bun, which know the symbol. Imported for
 * its effect by the entry points of servers and of Node; a page has no use for it.
 */
import { Metadata } from "./metadata.ts";

Object.defineProperty(Metadata.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value: Metadata.prototype.toJSON,
});
