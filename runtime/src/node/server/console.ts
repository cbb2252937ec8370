/**
 * The option `console`: a page on which developers call the methods of a server. Its modules and files are loaded when it is
 * requested for the first time.
 */
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { assertOneOf } from "../../call/option.ts";
import { type Resource, TEXT_TYPE, textResponse } from "../../server/resource.ts";
import type { NodeRouterOptions } from "./server-options.ts";

/** Reads a file of the page: of Swagger UI, or of this package. */
export type ConsoleFiles = (name: string) => Promise<string>;

/** The files of the page that are in this package. All others are those of Swagger UI. */
const OWN_FILES: ReadonlySet<string> = new Set(["page.css", "page.js"]);

/** The path of the page; its files are below it. */
const CONSOLE_PATH = "/triple";

/**
 * Adds the page to a router, unless it is off. Throws a `TypeError` for an invalid option, and an `Error` if Swagger UI
 * is not installed, which a server in production without the page does not need.
 */
export function mountConsole<Router extends { mount(resource: Resource): unknown }>(
  router: Router,
  { console: option, onError }: NodeRouterOptions,
  load: (router: Router, path: string, files: ConsoleFiles) => Promise<Resource>,
): Router {
  if (!isOn(option)) return router;
  const own = join(folderOf("triple-es"), "dist/console");
  const swaggerUi = folderOf("swagger-ui-dist");
  const files: ConsoleFiles = (name) => readFile(join(OWN_FILES.has(name) ? own : swaggerUi, name), "utf8");
  let page: Promise<Resource> | undefined;
  router.mount({
    path: CONSOLE_PATH,
    serves: ({ path }) => path === CONSOLE_PATH || path.startsWith(`${CONSOLE_PATH}/`),
    async exchange(request) {
      page ??= load(router, CONSOLE_PATH, files);
      try {
        return await (await page).exchange(request);
      } catch (error) {
        // The next request tries again: a folder can be unreadable for a while.
        page = undefined;
        onError?.(error, CONSOLE_PATH);
        return textResponse(
          500,
          TEXT_TYPE,
          "the page cannot be read; the server's option onError receives the reason\n",
        );
      }
    },
  });
  return router;
}

/** Reports whether the page is on: `true` is ignored in production. */
function isOn(option: boolean | "always" = false): boolean {
  assertOneOf("console", option, [true, false, "always"]);
  return option === "always" || (option && process.env["NODE_ENV"] !== "production");
}

/**
 * Returns the folder of a package, as this package, the program or the working directory finds it. Swagger UI is no
 * peer of this package, because npm installs a development dependency that is also an optional peer in production.
 */
function folderOf(name: string): string {
  const program = process.argv[1] ?? "";
  for (const from of [import.meta.url, pathToFileURL(program), pathToFileURL(join(process.cwd(), "package.json"))]) {
    try {
      return dirname(createRequire(from).resolve(`${name}/package.json`));
    } catch {
      // The next place may have it.
    }
  }
  throw new Error(
    `the option console needs the package ${name}: npm install --save-dev ${name}, or NODE_ENV=production without the page`,
  );
}
