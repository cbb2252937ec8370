/**
 * Base64 of `application/grpc-web-text`, for clients that can read only text while it arrives. Chunks are encoded and
 * padded one by one, so a body may contain padding before its end.
 */
import { Code, Status } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import { DONE, iteration } from "../call/message-stream.ts";
import { nextStep } from "../call/time-slice.ts";
import { type Body, streamBody, wholeBody } from "../http/body.ts";

/**
 * Maximum number of bytes that are converted to characters in one call, because the arguments of a function are on the
 * stack.
 */
const MAX_ARGUMENT_BYTES = 8 * 1024;

/** Bytes of text that are decoded in one step. */
const TEXT_STEP_BYTES = 32 * 1024;

/** Encodes a body in base64. A body that is whole remains whole. */
export function encodeBase64Body(body: Body): Body {
  return body.whole === undefined ? streamBody(encodeChunks(body)) : wholeBody(toBase64(body.whole));
}

/** Decodes a body in base64. Reading throws `invalid_argument` for text that is not base64. */
export function decodeBase64Body(body: Body): Body {
  return streamBody(decodeChunks(body));
}

function encodeChunks(body: Body): AsyncIterable<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const next = async (): Promise<IteratorResult<Uint8Array, undefined>> => {
    const step = await chunks.next();
    return step.done ? DONE : { done: false, value: toBase64(step.value) };
  };
  return iteration(next, () => chunks.return?.());
}

async function* decodeChunks(body: Body): AsyncGenerator<Uint8Array, void> {
  let rest = "";
  for await (const chunk of body) {
    for (let start = 0; start < chunk.byteLength; start += TEXT_STEP_BYTES) {
      const turn = start === 0 ? undefined : nextStep();
      if (turn !== undefined) await turn;
      const text = rest + fromBytes(chunk.subarray(start, start + TEXT_STEP_BYTES));
      const usable = text.length - (text.length % 4);
      rest = text.slice(usable);
      // Each run of base64 ends with its padding.
      for (const run of text.slice(0, usable).match(/[^=]+=*|=+/g) ?? []) yield fromBase64(run);
    }
  }
  if (rest !== "") yield fromBase64(rest);
}

/** `Buffer` encodes 4 MiB in 5 ms, which takes 120 ms otherwise. */
function toBase64(bytes: Uint8Array): Uint8Array {
  const text =
    typeof Buffer === "function"
      ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64")
      : btoa(fromBytes(bytes));
  return new TextEncoder().encode(text);
}

function fromBase64(text: string): Uint8Array {
  let binary: string;
  try {
    binary = atob(text);
  } catch (cause) {
    const message = "the body of a request in application/grpc-web-text must be base64";
    throw new RpcError(Code.InvalidArgument, message, { status: Status.BadRequest, cause });
  }
  return Uint8Array.from(binary, (character) => character.charCodeAt(0));
}

/** Converts each byte to a character. */
function fromBytes(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.byteLength; i += MAX_ARGUMENT_BYTES) {
    text += String.fromCharCode(...bytes.subarray(i, i + MAX_ARGUMENT_BYTES));
  }
  return text;
}
