import { defineConfig } from "vitest/config";

// The tests run on the sources of the runtime, not on a build of them.
const conditions = ["triple-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    // Tests that start several processes or compile for half a minute take several times that on a machine that is busy. No
    // test waits for this: a hang is the only use.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // The default is a second. This is less than the shortest limits of the runtime, which would hide that an event is missing.
    expect: { poll: { timeout: 9_000 } },
    // Tests wait for sockets and processes, so one core less, which is the default, leaves a machine of two half idle.
    maxWorkers: "100%",
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], tsconfig: "tsconfig.json" },
    coverage: { include: ["src/**", "runtime/src/**"], exclude: ["**/gen/**"] },
  },
});
