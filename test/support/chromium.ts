/** The browser of the tests, Debian's package `chromium`, and its start. */
import { build } from "esbuild";
import { type Browser, type BrowserContext, chromium } from "playwright-core";
import { ROOT } from "./documents.ts";

export const EXECUTABLE: string = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

const FLAGS: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** Bound in milliseconds of the start and of each step of a page, instead of 30 s: only a hang exceeds it. */
const TIMEOUT_MS = 150_000;

/** Starts the browser. The steps of its pages have the bound above. Close it at the end of the test. */
export async function launchBrowser(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: EXECUTABLE, args: [...FLAGS], timeout: TIMEOUT_MS });
  browser.on("context", (context: BrowserContext) => context.setDefaultTimeout(TIMEOUT_MS));
  return browser;
}

/** Bundles a module as the script of a page. */
export async function bundlePage(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [ROOT + file],
    bundle: true,
    minify: true,
    format: "iife",
    platform: "browser",
    conditions: ["triple-source"],
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}
