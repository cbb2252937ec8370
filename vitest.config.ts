import { defineConfig } from "vitest/config";

// The tests run on the sources of the runtime, not on a build of them.
const conditions = ["triple-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    typecheck: { enabled: true, include: ["test/**/*.test-d.ts"], tsconfig: "tsconfig.json" },
    coverage: { include: ["src/**", "runtime/src/**"], exclude: ["**/gen/**"] },
  },
});
