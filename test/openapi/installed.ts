/**
 * The tools of test/openapi/judges, which has a separate lock file. Tests that need them are skipped if it is not
 * installed.
 */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT } from "../support/documents.ts";

/** The folder of the tools, in which applications with Swagger UI run. */
export const JUDGES: string = join(ROOT, "test/openapi/judges");

export const hasJudges: boolean = existsSync(join(JUDGES, "node_modules"));
if (!hasJudges) console.warn("skipped: tools that read OpenAPI; CONTRIBUTING.md says how to install them");

/** Returns the path of a module that the folder has installed. */
export function judgePath(name: string): string {
  return createRequire(join(JUDGES, "package.json")).resolve(name);
}

/** Imports a module that the folder has installed. */
export async function importJudge<Module>(name: string): Promise<Module> {
  return (await import(pathToFileURL(judgePath(name)).href)) as Module;
}
