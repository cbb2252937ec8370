/**
 * Queues of large messages that wait to be decoded. A message in a few hundred kilobytes may take 16 times the limit on
 * messages in memory, and decoding alternates between messages in time slices.
 */
import { largeMessages, WorkQueue } from "../call/work-queue.ts";

/** Size, in bytes, from which messages wait in the queue of large ones, so that smaller ones do not wait for them. */
const LARGE_BYTES = 64 * 1024;

/** Smaller messages that are decoded at a time. */
const MAX_MEDIUM = 16;

const mediumMessages = new WorkQueue(MAX_MEDIUM);

/** The context of a call, whose signal is read only if the message has to wait. */
interface Waiting {
  readonly signal: AbortSignal | undefined;
}

/** Decodes a message that is not small, as soon as few others are being decoded. `bytes` is the size of the message. */
export function decodeInTurn<T>(bytes: number, context: Waiting, decode: () => T | Promise<T>): T | Promise<T> {
  return (bytes < LARGE_BYTES ? mediumMessages : largeMessages).run(decode, () => context.signal);
}
