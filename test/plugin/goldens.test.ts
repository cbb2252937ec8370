/** The committed output of fixtures and examples equals the output of this source tree, byte for byte. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { buildDescriptors, requestFor, root, run } from "./support/protos.ts";

const descriptors = buildDescriptors(root);
const standard = "target=ts,import_extension=ts";

/** The output folders, each with its parameter and its proto files. */
const folders: readonly [folder: string, parameter: string, protos: RegExp][] = [
  ["fixtures/gen", `${standard},codecs=false`, /^(fixture|grpc)\//],
  ["examples/gen", standard, /^(?:(?:greet|shop|lf)\/|google\/(?:api\/http|rpc\/error_details))/],
  ...optionFolders().map(([name, parameter]): [string, string, RegExp] => [
    `fixtures/options/gen/${name}`,
    parameter,
    /^fixture\/options\//,
  ]),
];

/** The template with which buf generates the fixtures of the options. */
function optionFolders(): [name: string, parameter: string][] {
  const template = readFileSync(join(root, "fixtures/options.gen.yaml"), "utf8");
  const ours = /scripts\/plugin\.js\]\n +out: fixtures\/options\/gen\/(.*)\n.*\n +opt: \[(.*)\]/g;
  return [...template.matchAll(ours)].map(([, name = "", options = ""]) => [name, options.replaceAll(", ", ",")]);
}

describe.each(folders)("%s", (folder, parameter, protos) => {
  const generated = run(requestFor(descriptors, parameter));
  const expected = [...generated.keys()].filter((name) => protos.test(name));

  it("holds the files that are generated, and no other", () => {
    const committed = readdirSync(join(root, folder), { recursive: true, encoding: "utf8" });
    expect(committed.filter((name) => /_(?:triple|codec)\.[\w.]+$/.test(name)).sort()).toEqual(expected.sort());
  });

  it.each(expected)("%s", (name) => {
    expect(generated.get(name)).toBe(readFileSync(join(root, folder, name), "utf8"));
  });
});

it("every option has a folder", () => {
  expect(optionFolders()).toHaveLength(10);
});
