/**
 * The client and the server under test in a Cloudflare Worker: each request has a call of the runner, and a transport of its own;
 * each connection has a server of its own.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Server } from "triple-es/node";
import { answer } from "./call.ts";
import { connect } from "./connect.ts";
import {
  ClientCompatRequestSchema,
  ClientCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/client_compat_pb.ts";
import { createConformanceServer } from "./service.ts";

/** The limit that the runner gives to all servers. */
const MESSAGE_RECEIVE_LIMIT = 200 * 1024;

// biome-ignore lint/style/noDefaultExport: workerd loads the default export
export default {
  async fetch(request: Request): Promise<Response> {
    const message = fromBinary(ClientCompatRequestSchema, new Uint8Array(await request.arrayBuffer()));
    const bytes = toBinary(
      ClientCompatResponseSchema,
      create(ClientCompatResponseSchema, await answer(message, connect)),
    );
    return new Response(bytes as Uint8Array<ArrayBuffer>);
  },
  connect: (socket: Parameters<Server["accept"]>[0]): Promise<void> =>
    createConformanceServer({ maxMessageBytes: MESSAGE_RECEIVE_LIMIT }).accept(socket),
};
