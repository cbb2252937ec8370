/**
 * Our client with nghttpd, the server of nghttp2 (Debian package nghttp2-server), which returns uploads, in many of its
 * configurations. Below the protocols, because nghttpd sets no content-type for gRPC.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Code, Metadata } from "triple-es";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { WholeBody } from "../../../runtime/src/http/body.ts";
import { createConnector } from "../../../runtime/src/node/client/connector.ts";
import { type Credentials, writeCredentials } from "../../interop/peer.ts";
import { outputOf, startProgram } from "../../interop/program.ts";
import { hasOpenssl } from "../../support/certificate.ts";
import { connectGreeter, failureOf } from "../../support/server.ts";

const hasNghttpd = outputOf("nghttpd", "--version") !== undefined;
const LIMIT_BYTES = 4 * 1024 * 1024;
const SIZES = [1, 9, 16_383, 16_385, 65_536, 300_000];
const IN_FLIGHT = 20;
const TRAILER = "--trailer=x-end: yes";

const CONFIGURATIONS: readonly (readonly [name: string, ...options: string[]])[] = [
  ["its defaults"],
  ["one stream at a time", "--max-concurrent-streams=1"],
  ["padding of 255 bytes", "--padding=255"],
  ["no table of header fields", "--header-table-size=0", "--encoder-header-table-size=0"],
  ["a table of 64 KiB", "--header-table-size=64K", "--encoder-header-table-size=64K"],
  ["windows of 1,023 bytes on streams", "--window-bits=10"],
  ["large windows", "--window-bits=30", "--connection-window-bits=30"],
  ["a push for each request", "--push=/=/index.html"],
  ["no content-length", "--no-content-length"],
  ["no priorities of RFC 7540", "--no-rfc7540-pri"],
];

let folder: string;
let credentials: Credentials | undefined;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "triple-es-nghttpd-"));
  mkdirSync(join(folder, "www"));
  writeFileSync(join(folder, "www/index.html"), "<p>Hello!</p>");
  writeFileSync(join(folder, "www/large"), Buffer.alloc(1_000_000, "x"));
  if (hasOpenssl) credentials = writeCredentials(folder);
  return () => rmSync(folder, { recursive: true });
});

describe.skipIf(!hasNghttpd).each([
  ["cleartext", false],
  ["TLS", true],
])("over %s, a client of nghttpd (needs nghttp2-server)", (_, overTls) => {
  async function start(...options: readonly string[]): Promise<string> {
    const { key, cert } = credentials?.files ?? { key: "", cert: "" };
    const files = overTls ? [key, cert] : ["--no-tls"];
    const fixed = ["--address=127.0.0.1", `--htdocs=${join(folder, "www")}`, "--echo-upload"];
    const { port, stop } = await startProgram((free) => ["nghttpd", ...fixed, ...options, String(free), ...files]);
    onTestFinished(stop);
    return `${overTls ? "https" : "http"}://127.0.0.1:${port}`;
  }

  const tls = (): { ca: string } | undefined => (overTls && credentials ? { ca: credentials.ca } : undefined);

  function connect(baseUrl: string) {
    const connector = createConnector({ baseUrl, httpVersion: "2", maxHeaderBytes: 65_536, tls: tls() });
    onTestFinished(() => connector.close());
    return (method: string, path: string, bytes: Uint8Array, index = 0) =>
      connector.exchange({
        method,
        path,
        version: "2",
        headers: new Metadata({ "content-type": "text/plain", "x-index": String(index), [`x-${index}`]: "y" }),
        body: new WholeBody(bytes),
        signal: undefined,
      });
  }

  const test = it.skipIf(overTls && !hasOpenssl);

  test.each(CONFIGURATIONS)("that is started with %s gets its uploads back, with trailers", async (_, ...options) => {
    const ask = connect(await start(TRAILER, ...options));
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < 60) {
        const index = next++;
        const bytes = Buffer.alloc(SIZES[index % SIZES.length] as number, String(index));
        const response = await ask("POST", "/", bytes, index);
        const { status, headers } = response;
        const received = Buffer.from(await response.body.bytes(LIMIT_BYTES));
        expect([status, headers.get("nghttpd-response"), received.equals(bytes)]).toEqual([200, "echo", true]);
        expect(response.trailers.get("x-end")).toBe("yes");
      }
    };
    await Promise.all(Array.from({ length: IN_FLIGHT }, work));
  });

  test("gets files, and errors", async () => {
    const ask = connect(await start());
    const { status, body } = await ask("GET", "/large", Buffer.alloc(0));
    expect([status, (await body.bytes(LIMIT_BYTES)).byteLength]).toEqual([200, 1_000_000]);
    const missing = await ask("GET", "/missing", Buffer.alloc(0));
    expect([missing.status, missing.headers.get("content-length")]).toEqual([404, "148"]);
    expect((await missing.body.bytes(LIMIT_BYTES)).byteLength).toBe(148);
  });

  test("gets a response that ends before its upload, and a reset without an error after it", async () => {
    const ask = connect(await start("--early-response", "--window-bits=10"));
    for (let i = 0; i < 10; i++) {
      const { status, body } = await ask("GET", "/large", Buffer.alloc(1_000_000), i);
      expect([status, (await body.bytes(LIMIT_BYTES)).byteLength]).toEqual([200, 1_000_000]);
    }
  });

  test("takes no response whose trailers are replaced by a reset without an error", async () => {
    // nghttpd sends the reset in their place if the upload has not ended. RFC 9113, section 8.1, allows it after the end.
    const ask = connect(await start("--early-response", "--window-bits=10", TRAILER));
    const { body } = await ask("GET", "/large", Buffer.alloc(8_000_000));
    const { code, rawMessage } = await failureOf(body.bytes(LIMIT_BYTES));
    expect([code, rawMessage]).toEqual([Code.Internal, "the stream was reset with HTTP/2 code 0"]);
    expect((await ask("GET", "/index.html", Buffer.alloc(0))).status).toBe(200);
  });

  test("fails gRPC calls with a clear message, and stays usable", async () => {
    const baseUrl = await start();
    const greeter = connectGreeter(baseUrl, { tls: tls() });
    // The response of an upload to nghttpd has no content-type.
    for (let i = 0; i < 5; i++) expect((await failureOf(greeter.greet({ name: "Ada" }))).code).toBe(Code.Unknown);
    expect((await failureOf(greeter.greetEach({ names: ["Ada"] }))).code).toBe(Code.Unknown);
    const ask = connect(baseUrl);
    expect((await ask("GET", "/index.html", Buffer.alloc(0))).status).toBe(200);
  });
});
