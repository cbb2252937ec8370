/** Decodes the envelopes of a body. */
import { type Envelope, EnvelopeReader } from "../../runtime/src/grpc/envelope.ts";
import type { Body } from "../../runtime/src/http/body.ts";

export async function* readEnvelopes(body: Body, maxBytes: number): AsyncGenerator<Envelope, void> {
  const reader = new EnvelopeReader(maxBytes);
  for await (const chunk of body) {
    reader.push(chunk);
    for (let envelope = reader.next(); envelope !== undefined; envelope = reader.next()) yield envelope;
  }
  reader.finish();
}
