/** Cells against registries that run on this machine: `npm run registries`. */
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

const conditions = ["triple-source"];

/** The files that take longest begin first, so that none is left alone at the end. */
const LONG = ["zookeeper", "nacos-outages", "etcd", "nacos"].map((name) => `/${name}.cells.ts`);

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isLong = ({ moduleId }: TestSpecification, name: string): boolean => moduleId.endsWith(name);
    const first = LONG.flatMap((name) => files.filter((file) => isLong(file, name)));
    return [...first, ...files.filter((file) => !first.includes(file))];
  }
}

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
    sequence: { sequencer: LongestFirst },
    reporters: ["verbose"],
  },
});
