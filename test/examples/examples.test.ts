/** The rules for examples with packages of their own, which `docs/examples.md` lists. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ROOT, readDocument } from "../support/documents.ts";
import { EXAMPLES } from "../support/examples.ts";

const { devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

describe.each(EXAMPLES)("the example %s", (name) => {
  const folder = join(ROOT, "examples", name);
  const read = (file: string): string => readFileSync(join(folder, file), "utf8");
  const { private: isPrivate, dependencies = {}, devDependencies: tools = {} } = JSON.parse(read("package.json"));
  const packages: Record<string, string> = { ...dependencies, ...tools };

  it("is private and has exact versions, those of this repository if it uses the same packages", () => {
    expect(isPrivate).toBe(true);
    const { "triple-es": own, "triple-es-nest": nest = "file:../../nest", ...others } = packages;
    expect([own, nest]).toEqual(["file:../../runtime", "file:../../nest"]);
    for (const [dependency, version] of Object.entries(others)) {
      expect(version, dependency).toMatch(/^\d+\.\d+\.\d+/);
      expect(version, dependency).toBe(devDependencies[dependency] ?? version);
    }
  });

  it("has a lock file that names no registry", () => {
    expect(read("package-lock.json")).not.toMatch(/"resolved": "http/);
  });

  it("has a README, a test, and a row in the list of examples", () => {
    expect(read("README.md")).toMatch(/npm ci.*npm (?:start|run )/s);
    expect(existsSync(join(ROOT, "test/examples", `${name}.test.ts`))).toBe(true);
    expect(readDocument("docs/examples.md")).toContain(`](../examples/${name}/README.md)`);
  });
});
