/**
 * The site: `npm run site` builds it from the documents and the doc comments, with every link checked, and Chromium reads it
 * from a static server.
 */
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { checkSite } from "../site/check.ts";
import { ADDRESSES, anchorOf } from "../site/navigation.ts";
import { rewriteLinks, withoutNotes } from "../site/pages.ts";
import { createStaticServer } from "../site/serve.ts";
import { EXECUTABLE, launchBrowser } from "./support/chromium.ts";
import { ROOT, readDocument } from "./support/documents.ts";

const DIST = join(ROOT, "site/dist");
const isInstalled = existsSync(join(ROOT, "site/node_modules"));
const hasChromium = existsSync(EXECUTABLE);
if (!isInstalled) console.warn("skipped: the site; npm run site installs its packages");

/** Serves a folder on a free port. Returns the address. */
async function serve(folder: string): Promise<string> {
  const server = createStaticServer(folder);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Writes files to a new folder. */
function writeSite(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "triple-es-site-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

describe("links of documents", () => {
  const linkTo = (path: string): string => ADDRESSES.get(path) ?? `/files/${path}.txt`;

  it.each([
    ["to a document", "[a](guide.md#streams)", "[a](/guide#streams)"],
    ["to the README", "[a](../README.md#install)", "[a](/introduction#install)"],
    ["to another file, with a title", '[a](../test/wire.test.ts "b c")', '[a](/files/test/wire.test.ts.txt "b c")'],
    ["to a file with escaped characters", "[a](../a/%5Bb%5D.ts)", "[a](/files/a/[b].ts.txt)"],
    ["in the text of a link that is code", "[`a`](guide.md)", "[`a`](/guide)"],
  ])("lead to pages: %s", (_, text, expected) => {
    expect(rewriteLinks(text, "docs/operations.md", linkTo)).toBe(expected);
  });

  it.each([
    ["to another host", "[a](https://example.com/b.md)"],
    ["to a heading of the document", "[a](#b)"],
    ["in code", "`[a](guide.md)`"],
    ["in a fenced block", "```ts\n[a](guide.md)\n```"],
  ])("are kept: %s", (_, text) => {
    expect(rewriteLinks(text, "docs/operations.md", linkTo)).toBe(text);
  });

  it("have the anchors of the repository's viewer", () => {
    expect(anchorOf("`createServer()`: TLS & mTLS, 2_x-y")).toBe("createserver-tls--mtls-2_x-y");
  });
});

it("blocks of code have no notes for the tests, in which VitePress would find lines to highlight", () => {
  const text = "a\n```proto from=proto/greet/v1/greet.proto\nb\n```\n```sh\nc d\n```\n";
  expect(withoutNotes(text)).toBe("a\n```proto\nb\n```\n```sh\nc d\n```\n");
});

describe("the check of a built site", () => {
  const page = '<a href="/b/#there">b</a> <a href="https://example.com">c</a> <link href="/style.css">';
  const right = { "index.html": page, "b/index.html": '<h2 id="there">', "style.css": "a{background:url(data:x)}" };

  it("accepts links and anchors with targets, links to other hosts, and resources of the site", () => {
    expect(checkSite(writeSite(right))).toEqual([]);
  });

  it.each(["/docs/", "/docs"])("accepts links of a site that is served at %s, and no others", (base) => {
    const home = '<a href="/docs/b/#there">b</a> <a href="/b/">c</a> <a href="/docsb/">d</a>';
    expect(checkSite(writeSite({ ...right, "index.html": home }), base)).toEqual([
      "index.html: outside of the site: /b/",
      "index.html: outside of the site: /docsb/",
    ]);
  });

  it.each([
    ["a dead link", { "a.html": '<a href="./gone.html">' }, "a.html: dead link: ./gone.html"],
    ["a dead anchor", { "a.html": '<a href="/b/#gone">' }, "a.html: dead anchor: /b/#gone"],
    ["a dead anchor of the page", { "a.html": '<a href="#gone">' }, "a.html: dead anchor: #gone"],
    ["a missing image", { "a.html": '<img alt="" src="a.png">' }, "a.html: dead link: a.png"],
    [
      "a script of another host",
      { "a.html": '<script async src="https://cdn.example.com/a.js">' },
      "a.html: loads from another host: https://cdn.example.com/a.js",
    ],
    [
      "a font of another host",
      { "a.css": "@font-face{src:url(//fonts.example.com/a.woff2)}" },
      "a.css: loads from another host: //fonts.example.com/a.woff2",
    ],
    [
      "a style of another host",
      { "a.css": '@import "https://fonts.example.com/a.css"' },
      "a.css: loads from another host: https://fonts.example.com/a.css",
    ],
    [
      "a module of another host",
      { "a.js": 'import("https://cdn.example.com/a.js")' },
      "a.js: loads from another host: https://cdn.example.com/a.js",
    ],
  ])("reports %s", (_, files, problem) => {
    expect(checkSite(writeSite({ ...right, ...files }))).toEqual([problem]);
  });
});

describe("the static server", () => {
  it("serves files and the index of a folder, and nothing outside of its folder", async () => {
    const folder = writeSite({
      "site/index.html": "home",
      "site/a/index.html": "a",
      "site/[...b].txt": "b",
      "secret.txt": "secret",
    });
    const url = await serve(join(folder, "site"));
    const ask = async (path: string): Promise<readonly [number, string]> => {
      const response = await fetch(url + path);
      return [response.status, await response.text()];
    };
    expect(await ask("/")).toEqual([200, "home"]);
    expect(await ask("/a/?b")).toEqual([200, "a"]);
    expect(await ask("/%5B...b%5D.txt")).toEqual([200, "b"]);
    for (const path of ["/a", "/%2e%2e%2fsecret.txt", "/..%2fsecret.txt", "/%zz", "/gone"]) {
      expect(await ask(path)).toEqual([404, "not found"]);
    }
  });
});

describe.skipIf(!isInstalled)("the built site", () => {
  // The build takes half a minute, and longer on a busy machine.
  beforeAll(() => {
    const { status, stdout, stderr } = spawnSync(process.execPath, ["scripts/site.js"], {
      cwd: ROOT,
      encoding: "utf8",
    });
    if (status !== 0) throw new Error(`${stdout}${stderr}`);
  }, 300_000);

  it.each([
    ["runtime", "triple-es"],
    ["dubbo", "triple-es-dubbo"],
  ])("has a page of the API reference for each entry point of the workspace %s", (workspace, module) => {
    const { exports } = JSON.parse(readDocument(`${workspace}/package.json`));
    const names = Object.keys(exports).filter((name) => !/^\.\/(?:package\.json|internal)/.test(name));
    expect(names.length).toBeGreaterThan(5);
    const page = (name: string): string => join(DIST, "reference", module, name, "index.html");
    expect(names.filter((name) => !existsSync(page(name)))).toEqual([]);
  });

  it("has the guide for coding assistants, which test/llms.test.ts follows, with links to each document", () => {
    const guide = readFileSync(join(DIST, "llms.txt"), "utf8");
    const links = Array.from(guide.matchAll(/\]\(([^)#]+)(?:#\S+)?\)/g), ([, link = ""]) => link);
    for (const document of ADDRESSES.keys()) expect(links).toContain(`files/${document}.txt`);
    expect(links.filter((link) => !existsSync(join(DIST, link)))).toEqual([]);
  });

  it("has the navigation to each document and to the API reference on its pages", () => {
    const page = readFileSync(join(DIST, "guide.html"), "utf8");
    const targets = [...ADDRESSES.values(), "/reference/"].map((address) => address.replace(/[^/]$/, "$&.html"));
    expect(targets.filter((target) => !page.includes(`href="${target}"`))).toEqual([]);
  });

  describe.skipIf(!hasChromium)("in Chromium", () => {
    let browser: Browser;
    beforeAll(async () => {
      browser = await launchBrowser();
    });
    afterAll(() => browser?.close());

    /** Opens a page of the site. Returns it, with the addresses of all requests, and the errors of the page. */
    async function open(path: string): Promise<{ page: Page; url: string; requests: string[]; errors: string[] }> {
      const url = await serve(DIST);
      const page = await browser.newPage();
      onTestFinished(() => page.close());
      const requests: string[] = [];
      const errors: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      page.on("pageerror", (error) => errors.push(error.message));
      page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
      await page.goto(url + path, { waitUntil: "networkidle" });
      return { page, url, requests, errors };
    }

    /** Requests that leave the server. */
    const foreign = (requests: readonly string[], url: string): string[] =>
      requests.filter((address) => !address.startsWith(`${url}/`) && !address.startsWith("data:"));

    it("finds createServer by search, and opens its page in the API reference", async () => {
      const { page, url, requests, errors } = await open("/");
      await page.locator(".VPNavBarSearch button").first().click();
      await page.locator("#localsearch-input").fill("createServer");
      const result = page.locator("a.result[href*='/reference/triple-es/node/']").first();
      await result.click();
      await page.waitForURL(/\/reference\/triple-es\/node\/.*#createserver$/);
      expect(await page.locator("h3#createserver").textContent()).toContain("createServer()");
      expect(await page.locator("h3#createserver ~ p").first().textContent()).toContain(
        "a server for both sub-protocols",
      );
      expect(requests.length).toBeGreaterThan(5);
      expect(foreign(requests, url)).toEqual([]);
      expect(errors).toEqual([]);
    });

    it("shows documents before the API reference among the results of a search", async () => {
      const { page, errors } = await open("/");
      await page.locator(".VPNavBarSearch button").first().click();
      const results = page.locator("a.result");
      for (const [query, address] of [
        ["CORS", "/options.html#cors"],
        ["upload", "/http-rpc.html#uploads"],
        ["retry budget", "/discovery.html#retry-budget"],
      ] as const) {
        await page.locator("#localsearch-input").fill(query);
        await expect.poll(() => results.first().getAttribute("href")).toBe(address);
      }
      for (const result of [1, 2]) expect(await results.nth(result).getAttribute("href")).not.toContain("/reference/");
      expect(errors).toEqual([]);
    });

    it("has room for code of 100 columns on a screen of 1280 px, where none scrolls and no line is marked", async () => {
      const { page } = await open("/guide.html");
      await page.setViewportSize({ width: 1280, height: 800 });
      const columns = await page.evaluate(`(() => {
        const pre = document.querySelector("div[class*=language-] pre");
        const line = document.createElement("span");
        line.textContent = "0".repeat(100);
        pre.querySelector("code").append(line);
        const { paddingLeft, paddingRight } = getComputedStyle(pre.querySelector("code"));
        const room = pre.clientWidth - Number.parseFloat(paddingLeft) - Number.parseFloat(paddingRight);
        return (100 * room) / line.getBoundingClientRect().width;
      })()`);
      expect(columns).toBeGreaterThan(100);
      const scrolling =
        '[...document.querySelectorAll("pre")].filter((one) => one.scrollWidth > one.clientWidth).length';
      expect(await page.evaluate(scrolling)).toBe(0);
      expect(await page.locator(".line.highlighted").count()).toBe(0);
    });

    it("has no page that is wider than a phone", async () => {
      const { page, url } = await open("/");
      await page.setViewportSize({ width: 390, height: 800 });
      for (const path of ["/", "/introduction.html", "/guide.html", "/options.html", "/bench.html", "/playground/"]) {
        await page.goto(url + path);
        expect(await page.evaluate("document.documentElement.scrollWidth"), path).toBe(390);
      }
    });

    it("has the command to begin, code and a picture on the first screen, and leads to the playground", async () => {
      const { page, url, requests, errors } = await open("/");
      await page.setViewportSize({ width: 1280, height: 800 });
      const command = page.getByText("npm create triple-es@latest");
      for (const element of [command, page.locator("img[src*='one-port']"), page.locator(".language-ts").first()]) {
        const box = await element.boundingBox();
        expect((box?.y ?? 800) + (box?.height ?? 0)).toBeLessThan(800);
      }
      await page.locator(".VPHero a", { hasText: "Playground" }).click();
      await page.waitForURL(`${url}/playground/index.html`);
      await page.locator("#call").click();
      await expect.poll(() => page.locator("#result").textContent()).toContain("Hello, Ann!");
      expect(foreign(requests, url)).toEqual([]);
      expect(errors).toEqual([]);
    });

    it("shows the terminal of the demo without movement for those who prefer that", async () => {
      const { page } = await open("/files/docs/demo.svg");
      const animation = 'getComputedStyle(document.querySelector(".lines")).animationName';
      expect(await page.evaluate(animation)).toBe("demo");
      await page.emulateMedia({ reducedMotion: "reduce" });
      expect(await page.evaluate(animation)).toBe("none");
    });

    it("goes from a document to another by a link of its text, in the dark too", async () => {
      const { page, url, requests, errors } = await open("/introduction.html");
      await page.emulateMedia({ colorScheme: "dark" });
      await page.waitForSelector("html.dark");
      await page.locator("main a", { hasText: "deadlines and cancellation" }).click();
      await page.waitForURL(`${url}/guide.html#deadlines-and-cancellation`);
      // The address changes before the page has been loaded.
      await page.locator("#deadlines-and-cancellation").waitFor({ state: "visible" });
      expect(foreign(requests, url)).toEqual([]);
      expect(errors).toEqual([]);
    });
  });
});
