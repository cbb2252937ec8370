/**
 * The assertion that receive windows add up, for every HTTP/2 connection in the process of a test (RFC 9113, sections 5.2.2 and
 * 6.9): after each step, bytes received = bytes credited + bytes held; the connection holds none. It is active in every test that imports this module,
 * which the helpers for engines and for servers do. A connection that loses a byte ends the test with an error.
 */
import { EngineConnection } from "../../runtime/src/http2/connection.ts";
import type { ReceiveWindow } from "../../runtime/src/http2/flow-control.ts";

/** Returns the bytes that have been received and not credited. */
export function outstanding({ size, left, credit }: ReceiveWindow): number {
  return size - left - credit;
}

/** Returns the receive window of a connection. */
export function windowOf(connection: EngineConnection): ReceiveWindow {
  return connection.streams.windows.connection;
}

function assertWindows(connection: EngineConnection): void {
  if (connection.isOver) return;
  for (const stream of connection.streams.live.values()) {
    // The window of a stream that the peer has ended is not needed any more.
    if (!stream.ended) assertEqual(`stream ${stream.id}`, stream.receiveWindow, stream.unconsumed);
  }
  assertEqual("the connection", windowOf(connection), 0);
}

function assertEqual(whose: string, window: ReceiveWindow, held: number): void {
  const bytes = outstanding(window);
  if (bytes !== held) throw new Error(`the window of ${whose} lacks ${bytes} bytes, of which ${held} are held`);
}

const { receive, take } = EngineConnection.prototype;

EngineConnection.prototype.receive = function (...given) {
  const taken = receive.apply(this, given);
  assertWindows(this);
  return taken;
};

EngineConnection.prototype.take = function (...given) {
  const segments = take.apply(this, given);
  assertWindows(this);
  return segments;
};
