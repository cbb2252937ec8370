/**
 * Prints metadata with its fields, in `console.log` and `util.inspect` of Node, and of Deno and Bun, which know the
 * symbol. The entry points of servers and of Node import it for its effect; pages do not need it.
 */
import { Metadata } from "./metadata.ts";

Object.defineProperty(Metadata.prototype, Symbol.for("nodejs.util.inspect.custom"), {
  value: Metadata.prototype.toJSON,
});
