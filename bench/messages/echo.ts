/** The message of the contests, in each of its encodings. */
import { create, toBinary, toJsonString } from "@bufbuild/protobuf";
import { BlobSchema, EchoRequestSchema, RepeatRequestSchema } from "./gen/echo_pb.ts";

export const echoPath = "/bench.v1.EchoService/Echo";
export const repeatPath = "/bench.v1.EchoService/Repeat";
export const blobPath = "/bench.v1.EchoService/EchoBlob";
export const talkPath = "/bench.v1.EchoService/Talk";

export const echoRequest = create(EchoRequestSchema, {
  id: "7c9e6679-7425-40de-944b-e07fc1f90ae7",
  name: "Tea, first flush, 250 g",
  quantity: 480,
  gift: true,
  price: 18.75,
  digest: Uint8Array.from({ length: 21 }, (_, index) => index * 12),
});

/** The message in binary: 100 bytes. */
export const echoProto = toBinary(EchoRequestSchema, echoRequest);

/** The message in its envelope, with the prefix of five bytes. */
export const echoEnvelope = envelope(echoProto);

/** Returns a message of the given number of bytes, in its envelope. */
export function blobEnvelope(length: number): Buffer {
  const payload = Uint8Array.from({ length }, (_, index) => index * 31 + (index >> 8));
  return envelope(toBinary(BlobSchema, create(BlobSchema, { payload })));
}

/** Number of messages of a call of Talk in each direction. Each is sent after the response to the previous one. */
export const talkCount = 100;

/** Number of messages that a call of Repeat requests. */
export const repeatCount = 1000;

export const repeatEnvelope = envelope(
  toBinary(RepeatRequestSchema, create(RepeatRequestSchema, { count: repeatCount })),
);

/** The response of sub-protocol A in JSON: one object. */
export const echoJson = Buffer.from(toJsonString(EchoRequestSchema, echoRequest));

/** The request of sub-protocol A in JSON: the array of the method's one argument. */
export const echoJsonArguments = Buffer.from(`[${echoJson}]`);

/** Length-Prefixed-Message → Compressed-Flag Message-Length Message, never compressed here. */
export function envelope(message: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(5 + message.length);
  framed[0] = 0;
  framed.writeUInt32BE(message.length, 1);
  framed.set(message, 5);
  return framed;
}

/** Returns the message of an envelope. The bytes must contain exactly one envelope. */
export function unwrap(framed: Uint8Array): Uint8Array {
  return framed.subarray(5);
}

/** Decodes envelopes, for any division into chunks. */
export function unwrapEach(received: (message: Uint8Array) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0);
  return (chunk) => {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    let start = 0;
    while (bytes.length - start >= 5) {
      const end = start + 5 + bytes.readUInt32BE(start + 1);
      if (end > bytes.length) break;
      received(bytes.subarray(start + 5, end));
      start = end;
    }
    rest = bytes.subarray(start);
  };
}
