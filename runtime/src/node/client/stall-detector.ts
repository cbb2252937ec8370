/**
 * Finds out that a client's session has gone deaf. After some breaches of the rules of HTTP/2, such as frames of a wrong
 * size, Node 20 says goodbye to the server, reads and sends nothing from then on, and tells nobody: calls would wait for
 * their deadlines, or for ever. Later versions of Node end the session.
 */
import type { ClientHttp2Session } from "node:http2";
import { repeat } from "../io/timer.ts";

/** How often a session with calls is looked at. */
const LOOK_MS = 5_000;
/** A session that sent nothing at so many looks in a row, though nothing held it up, is deaf. */
const MAX_FAILURES = 3;
/** Of what it is asked, a server may leave so much unanswered before it is asked no more. Node gives it up after 10. */
const MAX_UNANSWERED = 7;

/**
 * Watches a session until it closes. When bytes have come and then no more do, they may have been the last ones heard: the
 * session is made to send an empty SETTINGS frame, which means nothing to the server, and a deaf one does not send it.
 */
export function watchHearing(session: ClientHttp2Session, isBusy: () => boolean, onDeaf: () => void): void {
  /** The bytes that had come by the last look, and those of which it is known that they were heard. */
  let seen = 0;
  let heard = 0;
  let unanswered = 0;
  let failures = 0;

  function look(): void {
    if (session.destroyed || !isBusy()) return;
    const { bytesRead } = session.socket;
    const isQuiet = bytesRead === seen;
    seen = bytesRead;
    if (failures > 0 || (isQuiet && bytesRead !== heard && unanswered < MAX_UNANSWERED)) probe();
  }

  function probe(): void {
    // Calls that wait for their turn wait in the same queue.
    const before = queued();
    heard = seen;
    unanswered++;
    session.settings({}, () => {
      unanswered--;
      // The answer is no news.
      if (!session.destroyed) heard = session.socket.bytesRead;
    });
    setImmediate(() => {
      if (session.destroyed) return;
      failures = queued() > before && !isHeldUp(session.socket) ? failures + 1 : 0;
      if (failures === MAX_FAILURES) onDeaf();
    });
  }

  function queued(): number {
    return session.state.outboundQueueSize ?? 0;
  }

  session.once("close", repeat(LOOK_MS, look));
}

/**
 * Whether bytes wait for the network, or for the peer, to take them. Node 20, for which this is, knows it in private; where
 * it is not told, they may.
 */
function isHeldUp(socket: object): boolean {
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null };
  return handle?.writeQueueSize !== 0;
}
