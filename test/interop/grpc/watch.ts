/**
 * Observes and controls the compression of single messages for the compression cases. A codec and a compression cooperate
 * for it.
 */
import { type Codec, type Compression, protoCodec } from "triple-es";
import { deflate, gzip } from "triple-es/node";

export class CompressionWatch {
  readonly #inflated = new WeakSet<Uint8Array>();
  readonly #compressed = new WeakSet<object>();
  readonly #plainMessages = new WeakSet<object>();
  /** The last encoded message, which is compressed next. */
  #plain = false;

  readonly codec: Codec = {
    name: protoCodec.name,
    encode: (type, message) => {
      this.#plain = this.#plainMessages.has(message);
      return protoCodec.encode(type, message);
    },
    decode: (type, bytes) => {
      const message = protoCodec.decode(type, bytes);
      if (this.#inflated.has(bytes)) this.#compressed.add(message);
      return message;
    },
  };

  readonly compressions: readonly Compression[] = [gzip, deflate].map((compression) => ({
    name: compression.name,
    compress: (bytes) => (this.#plain ? undefined : compression.compress(bytes)),
    decompress: async (bytes, maxBytes) => {
      // The result is not a Buffer, because the codec would receive it as another array.
      const inflated = Uint8Array.from(await compression.decompress(bytes, maxBytes));
      this.#inflated.add(inflated);
      return inflated;
    },
  }));

  /** Marks a message to be sent without compression. */
  plain<M extends object>(message: M): M {
    this.#plainMessages.add(message);
    return message;
  }

  /** Reports whether a received message was compressed. */
  wasCompressed(message: object): boolean {
    return this.#compressed.has(message);
  }
}
