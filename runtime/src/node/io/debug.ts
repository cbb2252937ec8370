/**
 * The channels `triple-es.*` of `node:diagnostics_channel`, and `NODE_DEBUG=triple-es`, which prints their messages to the standard
 * error stream, as Node's own modules do.
 */
import { channel, subscribe } from "node:diagnostics_channel";
import { debuglog } from "node:util";
import { channels } from "../../call/diagnostics.ts";

const log = debuglog("triple-es");

/** Makes the channels, once. */
export function startDiagnostics(): void {
  if (channels.call !== undefined) return;
  // In Cloudflare Workers, every log is enabled.
  const prints = Boolean(process.env["NODE_DEBUG"]) && log.enabled;
  for (const topic of ["connection", "resolution", "pick", "retry", "call"] as const) {
    const name = `triple-es.${topic}`;
    channels[topic] = channel(name);
    if (prints && topic !== "call") subscribe(name, (message) => log("%s", (message as { text: string }).text));
  }
}
