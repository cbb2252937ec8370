/**
 * Watches the messages of an HTTP/1.1 connection where they are written and where they are read. It checks the rules of messages
 * between two ends of our own (I5), RFC 9112, section 9: no pipelining, and no request after a message that ends the connection.
 */
import type { Watcher } from "./frame-observer.ts";
import { type MessageHead, type MessageListener, MessageReader } from "./message-reader.ts";
import type { Connection } from "./network.ts";
import { CALL_ID } from "./service.ts";

export interface MessageWatcher extends Omit<Watcher, "turn"> {
  /** Called for the head of each request; `isReused`: the connection has had others. */
  readonly onRequest: (call: string, isReused: boolean) => void;
  readonly now: () => number;
  /** Called before the first request. */
  readonly onFirst: () => void;
}

/** Messages of one direction, in order. */
interface Progress {
  begun: number;
  ended: number;
}

export class MessageObserver {
  /** The time since when the client has had no exchange on the connection, and may begin another one; otherwise `undefined`. */
  idleSince: number | undefined;
  readonly #watcher: MessageWatcher;
  readonly #name: string;
  /** Requests that the client has written and the server has read, and responses, likewise. Interim responses do not count. */
  readonly #written: Progress = { begun: 0, ended: 0 };
  readonly #received: Progress = { begun: 0, ended: 0 };
  readonly #sent: Progress = { begun: 0, ended: 0 };
  readonly #read: Progress = { begun: 0, ended: 0 };
  /** True if the client must not send another request, and if the server has announced the end. */
  #isSpent = false;
  #hasClosed = false;

  constructor(connection: Connection, watcher: MessageWatcher) {
    const { upstream, downstream, id, client, server } = connection;
    this.#watcher = watcher;
    this.#name = `${client}#${id}→${server}`;
    const written = this.#reader(`${client} sends`, this.#written, {
      onBegin: () => this.#onRequest(client),
      onHead: ({ fields }) => watcher.onRequest(fields.get(CALL_ID) ?? "", this.#written.begun > 1),
    });
    const received = this.#reader(`${server} reads`, this.#received, {});
    const sent = this.#reader(`${server} sends`, this.#sent, {
      onBegin: () => this.#onResponse(server),
      onHead: (head) => {
        this.#hasClosed ||= isLast(head);
      },
    });
    const read = this.#reader(`${client} reads`, this.#read, {
      onHead: (head) => {
        this.#isSpent ||= isLast(head);
      },
      onEnd: () => this.#onResponseRead(),
    });
    upstream.observer = { onWritten: (bytes) => written.read(bytes), onRead: (bytes) => received.read(bytes) };
    downstream.observer = { onWritten: (bytes) => sent.read(bytes), onRead: (bytes) => read.read(bytes) };
  }

  /** Returns a reader that counts messages, and passes their events on. */
  #reader(what: string, progress: Progress, listener: Partial<MessageListener>): MessageReader {
    const { note } = this.#watcher;
    return new MessageReader({
      onBegin: () => {
        progress.begun++;
        listener.onBegin?.();
      },
      onHead: (head) => {
        note(() => `${this.#name} ${what} ${head.line}`);
        listener.onHead?.(head);
      },
      onEnd: () => {
        progress.ended++;
        listener.onEnd?.();
      },
      onInvalid: (text) => this.#break(`${what} what is no message: ${text}`),
    });
  }

  #onRequest(client: string): void {
    const { see, onFirst } = this.#watcher;
    this.idleSince = undefined;
    if (this.#written.begun > 1) see("HTTP/1.1: connection used again");
    else onFirst();
    if (this.#read.ended < this.#written.begun - 1)
      this.#break(`${client} sends request ${this.#written.begun}, and has not read the response to the one before`);
    else if (this.#isSpent)
      this.#break(`${client} sends request ${this.#written.begun} after a response that ended the connection`);
  }

  #onResponse(server: string): void {
    if (this.#sent.begun > this.#received.begun)
      this.#break(`${server} sends response ${this.#sent.begun} to a request that it has not read`);
    else if (this.#hasClosed) this.#break(`${server} sends another response after it has announced the end`);
  }

  #onResponseRead(): void {
    const { see, now } = this.#watcher;
    if (this.#written.ended < this.#written.begun) {
      see("HTTP/1.1: response before the end of its request");
      this.#isSpent = true;
    }
    if (this.#isSpent) see("HTTP/1.1: response that ends its connection");
    else this.idleSince = now();
  }

  #break(text: string): void {
    this.#watcher.report("I5", `${this.#name}: ${text}`);
  }
}

function isLast({ fields }: MessageHead): boolean {
  return fields.get("connection") === "close";
}
