/**
 * Builds the site from the documents and the doc comments: `npm run site`. `npm run site -- --serve [PORT]` serves it
 * afterwards. Fails for a public export without a doc comment, a dead link, and a load from another host.
 */
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { rmSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { checkSite } from "./check.ts";
import { writePages } from "./pages.ts";
import { writePlayground } from "./playground/bundle.ts";
import { createStaticServer } from "./serve.ts";

const site = fileURLToPath(new URL(".", import.meta.url));
const dist = join(site, "dist");
const DEFAULT_PORT = 4_000;

const { values, positionals } = parseArgs({ options: { serve: { type: "boolean" } }, allowPositionals: true });

writePages(join(site, ".."), join(site, "pages"));
await writePlayground(join(site, "pages/public/playground"));
rmSync(dist, { recursive: true, force: true });
run("typedoc/bin/typedoc", "--options", "typedoc.config.js");
run("vitepress/bin/vitepress.js", "build", ".");
const problems = checkSite(dist, process.env["SITE_BASE"]);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exit(1);
console.log(`The site is in ${dist}.`);
if (values.serve) await serve(Number(positionals[0] ?? DEFAULT_PORT));

/** Runs a program of the site's packages, and ends this one if it fails. */
function run(program: string, ...args: string[]): void {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(site, "node_modules", program), ...args], {
    cwd: site,
    encoding: "utf8",
  });
  if (status === 0) return;
  console.error(`${program} failed\n${stdout}${stderr}`);
  process.exit(1);
}

async function serve(port: number): Promise<void> {
  const server = createStaticServer(dist).listen(port, "127.0.0.1");
  await once(server, "listening");
  console.log(`It is served at http://localhost:${(server.address() as AddressInfo).port}/`);
}
