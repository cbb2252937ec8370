/**
 * Formatting of metadata with its fields in `console.log` and `util.inspect` of Node, and in Deno and Bun, which support
 * the same symbol. The entry points `triple-es` and `triple-es/node` import this module for its side effect; the entry
 * points for browsers do not.
 */
import { Metadata } from "./metadata.ts";

Object.defineProperty(Metadata.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value: Metadata.prototype.toJSON,
});
