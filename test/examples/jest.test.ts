/** The example in Jest: the recipe of docs/testing.md. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { ROOT } from "../support/documents.ts";
import { isExampleInstalled, prepareExample } from "../support/examples.ts";

const run = promisify(execFile);

describe.skipIf(!isExampleInstalled("jest"))("the example jest", () => {
  it("passes its tests in Jest", async () => {
    await prepareExample("jest");
    // Jest prints its report on stderr.
    const { stderr } = await run("npm", ["run", "--silent", "test"], { cwd: join(ROOT, "examples/jest") });
    expect(stderr).toContain("Tests:       4 passed, 4 total");
  });
});
