/**
 * Runs the plugin from its sources, for the templates of buf in this repository. A bundle starts in a fifth of the time that a
 * loader of TypeScript takes for all modules.
 */
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const { outputFiles } = await build({
  absWorkingDir: dirname(dirname(fileURLToPath(import.meta.url))),
  entryPoints: ["src/main.ts"],
  bundle: true,
  platform: "node",
  format: "esm",
  write: false,
  // The plugin never calls the compiler in the plugin kit.
  alias: { typescript: "./src/no-compiler.cjs", "@typescript/vfs": "./src/no-compiler.cjs" },
});
await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString("base64")}`);
