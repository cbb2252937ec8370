/** Cells against registries that run on this machine: `npm run registries`. */
import { defineConfig } from "vitest/config";

const conditions = ["triple-source"];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ["test/registries/**/*.cells.ts"],
    // A cell starts a registry, and outages last for seconds. No cell waits for this time: a hang is its only use.
    testTimeout: 90_000,
    hookTimeout: 90_000,
    // Cells wait most of the time, each for a registry of its own.
    maxWorkers: 3,
    reporters: ["verbose"],
  },
});
