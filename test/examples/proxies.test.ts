/**
 * The configurations of proxies in `examples/proxies`, which docs/deployment.md shows. `npm run proxies` makes calls
 * through both.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ROOT } from "../support/documents.ts";

const folder = mkdtempSync(join(tmpdir(), "proxies-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const configuration = (name: string): string => join(ROOT, "examples/proxies", name);

const checks = [
  {
    program: "nginx",
    arguments: ["-t", "-q", "-e", "stderr", "-c", configuration("nginx.conf"), "-g", `pid ${join(folder, "pid")};`],
  },
  { program: "haproxy", arguments: ["-c", "-q", "-f", configuration("haproxy.cfg")] },
];

describe("the configurations of proxies", () => {
  for (const { program, arguments: given } of checks) {
    const isMissing = spawnSync(program, ["-v"]).error !== undefined;
    it.skipIf(isMissing)(`are valid for ${program}${isMissing ? ", which is missing" : ""}`, () => {
      const { status, stderr } = spawnSync(program, given, { encoding: "utf8" });
      expect({ status, stderr }).toMatchObject({ status: 0 });
    });
  }
});
