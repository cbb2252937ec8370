/** Installs the packages of the site if they are missing, and builds it: `npm run site`. */
import { runChild } from "./child.js";
import { installFolder } from "./install.js";

installFolder("site");
process.exitCode = await runChild(process.execPath, ["--import", "tsx", "site/build.ts", ...process.argv.slice(2)]);
