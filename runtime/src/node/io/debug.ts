/**
 * `NODE_DEBUG=triple-es`: prints diagnostics to the standard error stream, as Node's own modules do.
 */
import { debuglog } from "node:util";
import { diagnostics } from "../../call/diagnostics.ts";

const log = debuglog("triple-es");

/** Turns diagnostics on if `NODE_DEBUG` names this package. */
export function startDiagnostics(): void {
  // In Cloudflare Workers, every log is enabled.
  if (process.env["NODE_DEBUG"] && log.enabled) diagnostics.write = (line) => log("%s", line);
}
