/** The type checker of the tests, TypeScript 7, with the settings that cost the least processor time. */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { ROOT } from "./documents.ts";

const { resolve } = createRequire(join(ROOT, "node_modules/typescript/package.json"));
const platform = dirname(resolve(`@typescript/typescript-${process.platform}-${process.arch}/package.json`));

/** The program itself, of the package for this platform: the script that starts it loads Node first. */
export const TSC: string = join(platform, "lib", process.platform === "win32" ? "tsc.exe" : "tsc");

/** Plain output, and one thread: several check some declarations more than once, and other tests need the processors. */
export const TSC_FLAGS: readonly string[] = ["--pretty", "false", "--singleThreaded"];

/** Garbage is collected only above this limit: compilers, and buf, end soon. Both variables are those of programs in Go. */
export const TSC_ENVIRONMENT: NodeJS.ProcessEnv = { ...process.env, GOGC: "off", GOMEMLIMIT: "1GiB" };
