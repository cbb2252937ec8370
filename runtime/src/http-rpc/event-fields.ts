/** The fields of a server-sent event that its handler sets. */
import { type ContextKey, createContextKey } from "../call/call.ts";

/**
 * The fields of the next message that a handler yields, if the response is a stream of server-sent events: a handler sets them
 * with `context.values.set(nextEvent, { id })` before it yields the message. gRPC has no such fields.
 */
export const nextEvent: ContextKey<
  | {
      /** The id, which a client that repeats the call sends as the header `last-event-id`: printable ASCII. Default: none. */
      readonly id?: string | undefined;
      /** Time after which `EventSource` repeats the call if the connection is lost, in milliseconds. Default: its own. */
      readonly retryMs?: number | undefined;
    }
  | undefined
> = createContextKey(undefined, "nextEvent");
