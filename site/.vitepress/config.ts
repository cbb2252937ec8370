/** The configuration of VitePress. `site/build.ts` writes the pages before VitePress runs. */
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { addressOf, anchorOf, GROUPS } from "../navigation.ts";

const reference = fileURLToPath(new URL("../pages/reference", import.meta.url));

/** A page loads nothing from other hosts, in any browser. VitePress has inline scripts and styles. */
const POLICY =
  "default-src 'self'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:";
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Cpath fill='%233451b2' d='M2 6h28v4H2zm0 8h28v4H2zm0 8h28v4H2z'/%3E%3C/svg%3E";

const documents = GROUPS.map(({ title, pages }) => ({
  text: title,
  collapsed: false,
  items: pages.map(([document, text]) => ({ text, link: addressOf(document) })),
}));

/** The entry points of the runtime: the folders that have a page of their own. */
const entryPoints = readdirSync(reference, { recursive: true, encoding: "utf8" })
  .map((name) => name.replaceAll("\\", "/"))
  .filter((name) => name.endsWith("/index.md"))
  .map((name) => name.slice(0, -"/index.md".length))
  .sort()
  .map((name) => ({ text: name, link: `/reference/${name}/` }));

/** Text without the languages of its code: the index of the search needs no highlighting, which takes most of its time. */
const withoutLanguages = (source: string): string => source.replaceAll(/^```\w.*$/gm, "```");

export default defineConfig({
  title: "triple-es",
  description: "Typed RPC for TypeScript: HTTP RPC and gRPC on one port",
  base: (process.env["SITE_BASE"] ?? "/") as "/",
  head: [
    ["meta", { "http-equiv": "Content-Security-Policy", content: POLICY }],
    ["link", { rel: "icon", href: ICON }],
  ],
  srcDir: "pages",
  outDir: "dist",
  cacheDir: ".cache",
  metaChunk: true,
  // site/check.ts checks links and anchors of the built pages.
  markdown: {
    html: false,
    linkify: false,
    anchor: { slugify: anchorOf },
    theme: { light: "github-light", dark: "github-dark" },
  },
  themeConfig: {
    nav: [
      { text: "Guide", link: "/guide" },
      { text: "Options", link: "/options" },
      { text: "API reference", link: "/reference/" },
      { text: "Playground", link: "/playground/index.html", target: "_self" },
      { text: "Changes", link: "/changelog" },
    ],
    sidebar: [...documents, { text: "API reference", link: "/reference/", collapsed: true, items: entryPoints }],
    outline: { level: [2, 3] },
    // Functions that only generated code imports would be most of the index.
    search: {
      provider: "local",
      options: {
        _render: (source, env, markdown) =>
          /\/triple-es\/(?:codec|wkt)\//.test(env.relativePath) ? "" : markdown.render(withoutLanguages(source), env),
      },
    },
  },
});
