/**
 * Responses that are sent before the end of the request, tested with curl and Go's net/http. curl 7.88 loses a response whose
 * end it reads together with its beginning, which happens if it is not scheduled for a while; both lose one that is followed
 * by a reset at once. `EARLY_RESPONSES=200`, as in `npm run campaign`, sets the number of requests.
 */
import { execFile, spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { hasOpenssl, sharedCertificates } from "../support/certificate.ts";
import { goVersion } from "../support/go.ts";
import { startServer } from "../support/server.ts";

const run = promisify(execFile);
const COUNT = Number(process.env["EARLY_RESPONSES"] ?? 5);
const LARGE_BYTES = 20 * 1024 * 1024;
const GREET = "/greet.v1.GreetService/Greet";

const REFUSED: [name: string, status: number, path: string, headers: Record<string, string>][] = [
  ["an unknown method", 404, "/greet.v1.GreetService/None", { "content-type": "application/json" }],
  ["an unknown content type", 415, GREET, { "content-type": "a/b" }],
  ["a malformed timeout", 400, GREET, { "content-type": "application/json", "tri-service-timeout": "x" }],
  ["a page of another site", 403, GREET, { "content-type": "text/plain", origin: "http://evil.example" }],
  ["a message over the limit", 413, GREET, { "content-type": "application/json" }],
];

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "triple-es-early-"));
  writeFileSync(join(folder, "large"), Buffer.alloc(LARGE_BYTES, "x"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROTOCOLS: [name: string, overTls: boolean, flag: string][] = [
  ["h2c", false, "--http2-prior-knowledge"],
  ["h2", true, "--http2"],
  ["http/1.1", false, "--http1.1"],
];

async function startRefusing(overTls: boolean): Promise<string> {
  return (await startServer({}, { tls: overTls ? sharedCertificates().server : undefined })).baseUrl;
}

describe.skipIf(spawnSync("curl", ["--version"]).status !== 0 || !hasOpenssl)(
  "curl gets the response (needs curl)",
  () => {
    const OPTIONS = ["--silent", "--insecure", "--noproxy", "*", "--max-time", "20", "--output", "/dev/null"];

    describe.each(PROTOCOLS)("over %s", (_, overTls, flag) => {
      it.each(REFUSED)("to a large request with %s", async (_, status, path, headers) => {
        const url = (await startRefusing(overTls)) + path;
        const fields = Object.entries(headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
        const upload = ["--request", "POST", "--upload-file", join(folder, "large"), "--write-out", "%{http_code} "];
        const statuses: string[] = [];
        for (let i = 0; i < COUNT; i++) {
          const { stdout } = await run("curl", [...OPTIONS, flag, ...fields, ...upload, url]).catch(({ stdout }) => ({
            stdout,
          }));
          statuses.push(stdout.trim());
        }
        expect(statuses.filter((one) => one !== String(status))).toEqual([]);
      });

      it("to a request that ends after it", async () => {
        const url = `${await startRefusing(overTls)}/greet.v1.GreetService/None`;
        const statuses: string[] = [];
        for (let i = 0; i < COUNT; i++) {
          const args = [
            ...OPTIONS,
            flag,
            "--request",
            "POST",
            "--upload-file",
            "-",
            "--write-out",
            "%{http_code}",
            url,
          ];
          const curl = spawn("curl", args, { stdio: ["pipe", "pipe", "ignore"] });
          setTimeout(() => curl.stdin.end("{}"), 30);
          curl.stdin.on("error", () => {});
          const chunks: Buffer[] = await curl.stdout.toArray();
          statuses.push(Buffer.concat(chunks).toString());
        }
        expect(statuses.filter((one) => one !== "404")).toEqual([]);
      });
    });
  },
);

describe.skipIf(goVersion() === undefined || !hasOpenssl)("Go's net/http gets the response (needs Go)", () => {
  let program: string;
  beforeAll(async () => {
    program = join(folder, "early");
    const source = fileURLToPath(new URL("early/main.go", import.meta.url));
    await run("go", ["build", "-o", program, source]);
  });

  describe.each(PROTOCOLS)("over %s", (protocol, overTls) => {
    it.each([
      ["an unknown method", 404, "/greet.v1.GreetService/None", "application/json"],
      ["an unknown content type", 415, GREET, "a/b"],
    ] as const)(
      "to requests with %s, large and small, early and late",
      async (_, status, path, contentType) => {
        const url = (await startRefusing(overTls)) + path;
        for (const bytes of [2, 200_000, LARGE_BYTES]) {
          const args = [url, status, COUNT, bytes, contentType, protocol].map(String);
          expect((await run(program, args)).stdout).toBe("done\n");
        }
      },
      240_000,
    );
  });
});
