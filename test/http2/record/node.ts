/** Encodes header lists with `node:http2`, which uses nghttp2, and reads the blocks from the wire. */
import { once } from "node:events";
import { connect, constants } from "node:http2";
import { type AddressInfo, createServer } from "node:net";
import { FrameType } from "../../../runtime/src/http2/codes.ts";
import { frame, parseFrames } from "../support/frames.ts";
import type { Story } from "./stories.ts";

/** Returns the header blocks that a client of Node sends for requests. */
export async function recordNode(story: Story): Promise<string[]> {
  const received: Buffer[] = [];
  const server = createServer((socket) => {
    socket.write(frame(FrameType.Settings, 0, 0, []));
    socket.on("data", (chunk) => received.push(chunk));
    socket.on("error", () => {});
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    peerMaxConcurrentStreams: 1_000,
  });
  session.on("error", () => {});
  await once(session, "remoteSettings");
  for (const { fields } of story.steps) {
    const headers: Record<string, string | string[]> = {};
    for (let i = 0; i < fields.length; i += 2) headers[fields[i] as string] = fields[i + 1] as string;
    session.request({ ...headers, [constants.HTTP2_HEADER_METHOD]: "POST" }, { endStream: true }).on("error", () => {});
  }
  await new Promise((resolve) => setTimeout(resolve, 200));
  session.destroy();
  server.close();
  const frames = parseFrames(Buffer.concat(received).subarray(24));
  return (
    frames
      .filter(({ type }) => type === FrameType.Headers)
      // nghttp2 adds a priority, which does not belong to the block.
      .map(({ payload, flags }) => Buffer.from(payload.subarray(flags & 0x20 ? 5 : 0)).toString("hex"))
  );
}
