/** Methods without schemas have a payload. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Method, ServiceDef } from "triple-es";
import { beforeAll, describe, expect, it } from "vitest";
import { payloadOf } from "../../runtime/src/call/call.ts";
import type { Payload } from "../../runtime/src/protocol/payload.ts";
import { ROOT } from "../support/documents.ts";

/** Returns the files below a folder whose paths have the given end, relative to the root of the repository. */
function filesBelow(folder: string, end: string): string[] {
  const paths = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return paths.filter((path) => path.endsWith(end)).map((path) => join(folder, path));
}

describe("a method", () => {
  const methods: Method[] = [];

  beforeAll(async () => {
    const files = ["fixtures", "examples/gen", "runtime/src/gen", "dubbo/src/gen"].flatMap((folder) =>
      filesBelow(folder, "_triple.ts"),
    );
    const modules = await Promise.all(
      files.map((file) => import(join(ROOT, file)) as Promise<Record<string, unknown>>),
    );
    for (const [name, service] of modules.flatMap(Object.entries)) {
      if (name.endsWith("Def")) methods.push(...Object.values((service as ServiceDef<object, object>).methods));
    }
  });

  it("has two whole schemas, or a payload and none", () => {
    const ways = new Map<string, number>();
    for (const method of methods) {
      const { path, input, output } = method;
      const payload = payloadOf<Payload>(method);
      const way = payload === undefined ? "schemas" : payload.server === undefined ? "for clients" : "for both";
      ways.set(way, (ways.get(way) ?? 0) + 1);
      const files = [input?.file.proto.name, output?.file.proto.name];
      expect(
        files.filter((name) => name !== undefined),
        path,
      ).toHaveLength(way === "schemas" ? 2 : 0);
      for (const type of [input, output]) if (type !== undefined) expect(Array.isArray(type.fields), path).toBe(true);
    }
    expect([...ways.keys()].sort()).toEqual(["for both", "for clients", "schemas"]);
  });

  it("never gets a schema that is a cast of a literal, of a call or of unknown, or an intersection", () => {
    const sources = ["runtime/src", "dubbo/src"]
      .flatMap((folder) => filesBelow(folder, ".ts"))
      .filter((file) => !file.includes("/gen/"));
    expect(sources.length).toBeGreaterThan(100);
    const faked = sources.filter((file) =>
      /(?:[})]|\bunknown) as DescMessage\b|DescMessage &|& DescMessage/.test(readFileSync(join(ROOT, file), "utf8")),
    );
    expect(faked).toEqual([]);
  });
});
