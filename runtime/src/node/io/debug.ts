/**
 * The channels `triple-es.*` of `node:diagnostics_channel`, and `NODE_DEBUG=triple-es`, which prints their messages to the standard
 * error stream, as Node's own modules do.
 */
import { channel, subscribe } from "node:diagnostics_channel";
import { debuglog } from "node:util";
import { channels, type Messages, subscribed } from "../../call/diagnostics.ts";

const log = debuglog("triple-es");

type ConnectionMessage = Messages["connection"];

/** Publishes an event of a connection or of one of its streams. `text` is called if there is a subscriber. */
export function reportConnection(
  side: ConnectionMessage["side"],
  type: ConnectionMessage["type"],
  peer: string,
  text: () => string,
): void {
  subscribed("connection")?.publish({ side, type, peer, text: text() });
}

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
