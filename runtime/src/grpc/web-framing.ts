/**
 * The framing of gRPC-Web (PROTOCOL-WEB.md of gRPC): sub-protocol B for clients that cannot read HTTP trailers, such as
 * pages. The messages are the same; the trailers are an additional frame at the end of the body.
 *
 *     Body          → *Length-Prefixed-Message Trailer-Frame
 *     Trailer-Frame → %x80 Length Trailers      ; Length: four bytes, unsigned, big endian
 *     Trailers      → *( name ":" OWS value CRLF )
 */
import { concat } from "../call/bytes.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Metadata } from "../call/metadata.ts";
import { encodeEnvelope, PREFIX_BYTES } from "./envelope.ts";

/** The flag that marks the frame of the trailers. */
const TRAILERS_FLAG = 0x80;
/** Maximum size of a block of trailers in bytes, above the limit on the fields of a response. */
const MAX_TRAILER_BYTES = 64 * 1024;

/** Encodes trailers as the last frame of a body. */
export function encodeTrailers({ raw }: Metadata): Uint8Array {
  let text = "";
  for (let i = 0; i < raw.length; i += 2) text += `${raw[i]}: ${raw[i + 1]}\r\n`;
  return encodeEnvelope(new TextEncoder().encode(text), TRAILERS_FLAG);
}

/**
 * Yields the chunks of a body up to its trailers, and adds those to `trailers`. Throws for a body without trailers
 * unless it is empty: the trailers are then in the headers, or missing, which the protocol reports.
 */
export async function* splitTrailers(
  body: AsyncIterable<Uint8Array>,
  trailers: Metadata,
): AsyncGenerator<Uint8Array, void> {
  /** The received data from the prefix of the current frame on. */
  let buffered: Uint8Array = new Uint8Array(0);
  /** Remaining bytes of a message whose first part has already been yielded. */
  let missing = 0;
  let complete = true;
  for await (const chunk of body) {
    if (chunk.length === 0) continue;
    const bytes = concat([buffered, chunk], buffered.length + chunk.length);
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let end = missing;
    while (end + PREFIX_BYTES <= bytes.length && (bytes[end] as number) < TRAILERS_FLAG) {
      end += PREFIX_BYTES + view.getUint32(end + 1);
    }
    const ready = Math.min(end, bytes.length);
    if (ready > 0) yield bytes.subarray(0, ready);
    missing = end - ready;
    buffered = bytes.subarray(ready);
    complete = missing + buffered.length === 0;
    if (buffered.length < PREFIX_BYTES) continue;
    const length = view.getUint32(ready + 1);
    if (buffered[0] !== TRAILERS_FLAG || length > MAX_TRAILER_BYTES) {
      throw malformed(`has a trailer frame with the flags 0x${buffered[0]?.toString(16)} and ${length} bytes`);
    }
    const excess = buffered.length - PREFIX_BYTES - length;
    if (excess > 0) throw malformed("goes on after its trailers");
    if (excess < 0) continue;
    trailers.appendRaw(parseTrailers(buffered.subarray(PREFIX_BYTES)));
    complete = true;
  }
  if (!complete) throw malformed("ended in the middle of a frame");
}

function parseTrailers(block: Uint8Array): string[] {
  const fields: string[] = [];
  for (const line of new TextDecoder().decode(block).split(/\r?\n/)) {
    const colon = line.indexOf(":");
    if (colon > 0) fields.push(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
  return fields;
}

function malformed(problem: string): RpcError {
  return new RpcError(Code.Internal, `the gRPC-Web response ${problem}`);
}
