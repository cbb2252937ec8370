import { availableParallelism } from "node:os";
import { configDefaults, defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

// The tests run on the sources of the runtime, not on a build of them.
const conditions = ["triple-source"];

/** The tests of folders. */
const testsOf = (...folders: string[]) => folders.map((folder) => `test/${folder}/**/*.test.ts`);
/** Tests of single modules, in memory or in the simulator, but for a few that open sockets. */
const UNIT = [
  ...testsOf("call", "client", "codec", "dubbo", "grpc", "http", "http-rpc", "http1", "http2"),
  ...testsOf("observe", "protocol", "rest", "server", "services", "simulation", "websocket"),
];
/** Tests of the programs for developers, which start compilers. */
const TOOLS = testsOf("contract", "openapi", "plugin", "validate");
/** Tests of what users install and read: packages, projects that are made of them, and the site. `npm test` leaves them out. */
const PACKAGES = [
  ...testsOf("examples", "release"),
  ...["create", "llms", "packages", "playground", "site"].map((name) => `test/${name}.test.ts`),
];
/** Tests that replace modules, which must not be loaded yet, count all errors of sockets, or collect the garbage of a worker. */
const ISOLATED = [
  "dubbo/interface/integer-names",
  "http-rpc/body-format",
  "node/io/leak",
  "node/io/socket-errors",
  "node/io/stream-ids",
].map((name) => `test/${name}.test.ts`);

/** Files that take half a minute and more, the longest one first. They begin first, so that none is left alone at the end. */
const LONG = [
  ...["release/release", "site", "playground", "create", "packages", "docs", "simulation/simulation", "examples/next"],
  ...["node/attack/memory", "node/attack/server-tls", "node/attack/server", "node/attack/blocks", "openapi/console"],
  ...["plugin/hostile", "plugin/types", "node/attack/server-limits", "codec/binary/codecs", "interop/early-response"],
].map((name) => `/test/${name}.test.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification): number => {
      const place = LONG.findIndex((name) => moduleId.endsWith(name));
      return place < 0 ? LONG.length : place;
    };
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    // Tests that start several processes or compile for half a minute take several times that on a machine that is busy. No
    // test waits for this: a hang is the only use.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // The default is a second. This is less than the shortest limits of the runtime, which would hide that an event is missing.
    expect: { poll: { timeout: 9_000 } },
    // Tests wait for sockets and processes most of the time.
    maxWorkers: 3 * availableParallelism(),
    sequence: { sequencer: LongestFirst },
    // Projects share compiled modules, and runs after the first one reuse those of unchanged files.
    experimental: { fsModuleCache: true },
    coverage: { include: ["src/**", "runtime/src/**"], exclude: ["**/gen/**"] },
    // The files of a worker share their modules, which takes half the time; they leave no state.
    projects: [
      {
        extends: true,
        test: { name: "unit", include: UNIT, exclude: [...configDefaults.exclude, ...ISOLATED], isolate: false },
      },
      {
        extends: true,
        test: { name: "tools", include: TOOLS, isolate: false, globalSetup: "test/plugin/support/build.ts" },
      },
      {
        extends: true,
        test: {
          name: "system",
          include: ["test/**/*.test.ts"],
          exclude: [...configDefaults.exclude, ...UNIT, ...TOOLS, ...PACKAGES, ...ISOLATED],
          isolate: false,
        },
      },
      { extends: true, test: { name: "packages", include: PACKAGES, isolate: false } },
      { extends: true, test: { name: "isolated", include: ISOLATED } },
    ],
  },
});
