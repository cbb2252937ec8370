/**
 * Commitment of calls of sub-protocol A to their response (gRFC A6): after a response with status 200 has begun, a call
 * that fails while its body is read must not be attempted again. Bundles of pages do not include this module.
 */
import { markCommitted } from "../call/attempt.ts";
import { Code } from "../call/code.ts";
import { RpcError } from "../call/error.ts";
import type { Body } from "../http/body.ts";
import type { Exchange } from "../http/exchange.ts";

/** Marks the errors that occur while the body of a successful response is read. */
export function commitExchange(exchange: Exchange): Exchange {
  return async (request) => {
    const response = await exchange(request);
    if (response.status !== 200) return response;
    return { ...response, body: new CommittedBody(response.body) };
  };
}

class CommittedBody implements Body {
  readonly #body: Body;
  constructor(body: Body) {
    this.#body = body;
  }
  async bytes(limit: number): Promise<Uint8Array> {
    try {
      return await this.#body.bytes(limit);
    } catch (reason) {
      throw markCommitted(RpcError.from(reason, Code.Internal));
    }
  }
  [Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    return this.#body[Symbol.asyncIterator]();
  }
}
