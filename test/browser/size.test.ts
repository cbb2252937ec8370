/**
 * Limits on the bundle sizes of pages. `npm run size` prints the sizes.
 */
import { beforeAll, describe, expect, it } from "vitest";
import { measureSizes, type Sizes } from "../../bench/size/pages.ts";
import { readDocument } from "../support/documents.ts";

/** Maximum size of a client without protobuf and streams, compressed with brotli. */
const MAX_JSON_BYTES = 6_000;
/** Maximum size of a client without protobuf, with streams. */
const MAX_STREAMING_JSON_BYTES = 10_000;
/** Maximum size of a client with protobuf messages and streams, compressed with brotli. */
const MAX_PROTO_BYTES = 26_000;
/** Maximum size of HTTP/2 in a WebSocket, in addition to a client of the same entry point. */
const MAX_WEB_SOCKET_BYTES = 20_000;

let sizes: Sizes;

beforeAll(async () => {
  sizes = await measureSizes();
});

describe("the bundle of a page", () => {
  it(`takes at most ${MAX_JSON_BYTES} bytes with messages in plain JSON`, () => {
    expect(sizes["triple-es/json"].brotli).toBeLessThanOrEqual(MAX_JSON_BYTES);
  });

  it(`takes at most ${MAX_STREAMING_JSON_BYTES} bytes with messages in plain JSON and streams`, () => {
    expect(sizes["triple-es/json with streams"].brotli).toBeLessThanOrEqual(MAX_STREAMING_JSON_BYTES);
  });

  it("is smaller than connect-web's with protobuf messages and streams", () => {
    expect(sizes["triple-es/proto"].brotli).toBeLessThanOrEqual(MAX_PROTO_BYTES);
    expect(sizes["triple-es/proto"].brotli).toBeLessThan(sizes["@connectrpc/connect-web"].brotli);
  });

  it(`takes at most ${MAX_WEB_SOCKET_BYTES} bytes more by a WebSocket`, () => {
    const most = sizes["triple-es/fetch"].brotli + MAX_WEB_SOCKET_BYTES;
    expect(sizes["triple-es/fetch by a WebSocket"].brotli).toBeLessThanOrEqual(most);
  });

  it("has the size in kB that docs/bundle-size.md gives", () => {
    const rows = readDocument("docs/bundle-size.md").matchAll(/^\| `([@\w/-]+)`( [a-zA-Z ]+)? \| .* \| (\d+) kB \|$/gm);
    const documented = Object.fromEntries(
      Array.from(rows, ([, name, variant = "", kilobytes]) => [`${name}${variant}`, Number(kilobytes)]),
    );
    expect(documented).toEqual(
      Object.fromEntries(Object.entries(sizes).map(([name, { brotli }]) => [name, Math.round(brotli / 1000)])),
    );
  });
});
