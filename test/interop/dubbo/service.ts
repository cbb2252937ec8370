/** The service of the matrix on the server of triple-es, as peer.proto describes it. */
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, type HandlerContext, type Metadata, RpcError } from "triple-es";
import { attachments, readAttachments } from "triple-es-dubbo/java";

import { ErrorInfoSchema } from "./gen/google/rpc/error_details_pb.ts";
import type { PeerRequest } from "./gen/interop/v1/peer_pb.ts";
import type { PeerResponseInit, PeerServiceHandler } from "./gen/interop/v1/peer_triple.ts";

/** The bytes that every peer sends as `x-bytes-bin`. */
export const TRAILING_BYTES = Uint8Array.of(0xab, 0xcd, 0xef, 0xff);

/** Creates the service. `selector` is the group and version under which it is added, as "group/version". */
export function createPeerService(selector = ""): PeerServiceHandler {
  const canceled = new Set<string>();

  /** Does what a request demands after its responses have been sent. */
  async function finish({ delayMs, callId, failure }: PeerRequest, { signal }: HandlerContext): Promise<void> {
    if (delayMs > 0) await delay(delayMs, undefined, { signal }).catch(() => canceled.add(callId));
    if (failure === undefined) return;
    const details = failure.details
      ? [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, { reason: "PEER", domain: "interop" }))]
      : [];
    throw new RpcError(failure.code as Code, failure.message, { details });
  }

  function answer({ text, number, data }: PeerRequest, { requestHeaders }: HandlerContext): PeerResponseInit {
    const metadata = seenOf(requestHeaders);
    // Clients of peers cannot detect in another way whether their requests were compressed.
    const encoding = requestHeaders.get("grpc-encoding");
    if (encoding !== undefined) metadata["grpc-encoding"] = encoding;
    return { text, number, data, service: selector, metadata };
  }

  return {
    async unary(request, context) {
      addMetadata(context);
      await finish(request, context);
      return answer(request, context);
    },

    async clientStream(requests, context) {
      addMetadata(context);
      const texts: string[] = [];
      let last: PeerRequest | undefined;
      for await (const request of requests) {
        texts.push(request.text);
        last = request;
      }
      if (last === undefined) throw new RpcError(Code.InvalidArgument, "a stream needs at least one request");
      await finish(last, context);
      return { ...answer(last, context), text: texts.join(",") };
    },

    async *serverStream(request, context) {
      addMetadata(context);
      for (let i = 0; i < request.responses; i++) yield { ...answer(request, context), text: `${request.text}${i}` };
      await finish(request, context);
    },

    async *bidiStream(requests, context) {
      addMetadata(context);
      for await (const request of requests) {
        await finish(request, context);
        yield answer(request, context);
      }
    },

    watch: ({ callId }) => ({ canceled: canceled.has(callId) }),
  };
}

function addMetadata({ responseHeaders, responseTrailers }: HandlerContext): void {
  responseHeaders.set("x-leading", "yes");
  responseTrailers.appendAll(attachments({ "x-trailing": "yes", "x-bytes": TRAILING_BYTES, "x-camelCase": "yes" }));
}

/** Returns metadata that begins with x-, under the names of the sender. */
function seenOf(headers: Metadata): Record<string, string> {
  const seen = Object.entries(readAttachments(headers)).filter(([name]) => /^x-/i.test(name));
  return Object.fromEntries(
    seen.map(([name, value]) =>
      typeof value === "string"
        ? [name, value]
        : [`${name}-bin`, Buffer.from(value).toString("base64").replaceAll("=", "")],
    ),
  );
}
