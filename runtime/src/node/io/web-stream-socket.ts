/** A socket on web streams, such as that of a connection which the platform has made or accepted. */
import { Duplex } from "node:stream";
import { joinAll } from "../../call/bytes.ts";
import { ignore } from "../../connection/error.ts";

/** Web streams with the members of a socket that the engines use. It has no addresses. */
export class WebStreamSocket extends Duplex {
  bytesRead = 0;
  bytesWritten = 0;
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #writer: WritableStreamDefaultWriter<Uint8Array>;

  /** Throws a `TypeError` for what is not a pair of streams, and for streams in use. */
  constructor(pair: { readonly readable: ReadableStream<Uint8Array>; readonly writable: WritableStream<Uint8Array> }) {
    super({ allowHalfOpen: false });
    if (pair?.readable?.locked !== false || pair.writable?.locked !== false)
      throw new TypeError("a connection is { readable, writable }, two streams that are not locked");
    this.#reader = pair.readable.getReader();
    this.#writer = pair.writable.getWriter();
    for (const { closed } of [this.#reader, this.#writer]) closed.catch((error: Error) => this.destroy(error));
  }

  override _read(): void {
    this.#reader.read().then(({ done, value }) => {
      this.bytesRead += value?.byteLength ?? 0;
      this.push(done ? null : value);
    }, ignore);
  }

  override _writev(chunks: readonly { chunk: Uint8Array }[], done: (error?: Error) => void): void {
    // A stream may keep what is written to it, while the caller uses the memory again. Node 20 throws for one that is closed.
    const bytes = joinAll(chunks.map(({ chunk }) => chunk));
    this.bytesWritten += bytes.length;
    new Promise<void>((resolve) => resolve(this.#writer.write(bytes))).then(() => done(), done);
  }

  override _final(done: (error?: Error) => void): void {
    this.#writer.close().then(() => done(), done);
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#reader.cancel(error).catch(ignore);
    this.#writer.abort(error).catch(ignore);
    done(error);
  }
}
