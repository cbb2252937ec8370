/** The committed output of fixtures and examples: what this source tree generates, byte for byte. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { buildDescriptors, requestFor, root, run } from "./support/protos.ts";

const generated = run(requestFor(buildDescriptors(root), "target=ts,import_extension=ts"));

describe.each([
  ["fixtures/gen", /^(fixture|grpc)\//],
  ["examples/gen", /^greet\//],
])("%s", (folder, pattern) => {
  const expected = [...generated.keys()].filter((name) => pattern.test(name));

  it("holds a file for each proto file with services, and no other", () => {
    const committed = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    expect(committed.filter((name) => name.endsWith("_triple.ts")).sort()).toEqual(expected.sort());
  });

  it.each(expected)("%s", (name) => {
    expect(generated.get(name)).toBe(readFileSync(join(root, folder, name), "utf8"));
  });
});
