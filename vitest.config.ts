import { defineConfig } from "vitest/config";

// The tests run on the sources of the runtime, not on a build of them.
const conditions = ["triple-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    // Tests that start several processes take 20 s and more on a machine that is busy. No test waits for this: a hang is the only use.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], tsconfig: "tsconfig.json" },
    coverage: { include: ["src/**", "runtime/src/**"], exclude: ["**/gen/**"] },
  },
});
