/**
 * Diagnostics: messages of the channels `triple-es.*` of `node:diagnostics_channel`. Engines on Node set the channels; without a
 * subscriber, a message is not created, which costs one comparison.
 */
import type { RpcError } from "./error.ts";

/** A message with the line that `NODE_DEBUG` prints. */
interface Line {
  readonly text: string;
}

/** The messages, by channel. */
export interface Messages {
  /** An event of a connection or of one of its streams. `peer` is the other side, or the path of the call that was reset. */
  readonly connection: Line & {
    readonly side: "client" | "server";
    readonly type: "connecting" | "connected" | "failed" | "goaway" | "reset" | "ended" | "closed";
    readonly peer: string;
  };
  /** The endpoints of a target, or the error of its resolver. */
  readonly resolution: Line & {
    readonly target: string;
    readonly addresses?: readonly string[];
    readonly error?: RpcError;
  };
  /** The endpoint that a balancer has picked for a request. */
  readonly pick: Line & { readonly path: string; readonly address: string };
  /** A further attempt, or one that the budget refuses. */
  readonly retry: Line & {
    readonly type: "retry" | "hedge" | "transparent retry" | "refused";
    readonly path: string;
    readonly delayMs: number;
    readonly error: RpcError | undefined;
  };
  /** A finished call, as loggers report it. */
  readonly call: object;
}

interface Channel<Message> {
  readonly hasSubscribers: boolean;
  publish(message: Message): void;
}

export const channels: { -readonly [Topic in keyof Messages]?: Channel<Messages[Topic]> } = {};

/** Returns the channel if it has a subscriber. Use it as `subscribed("pick")?.publish(…)`, which then creates no message. */
export function subscribed<Topic extends keyof Messages>(topic: Topic): Channel<Messages[Topic]> | undefined {
  const channel: Channel<Messages[Topic]> | undefined = channels[topic];
  return channel?.hasSubscribers ? channel : undefined;
}

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
