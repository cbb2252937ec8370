/** The page on which developers call the methods of a server: Swagger UI with a plugin for streaming methods (`page.ts`). */
import { type Resource, readOnly, TEXT_TYPE, textResponse } from "../server/resource.ts";
import type { Router } from "../server/router.ts";
import { DocumentResource } from "./router-document.ts";

/** The policy of the page (Content Security Policy Level 3): it reaches the server only. Swagger UI's icons are data URLs. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE_FIELDS: Readonly<Record<string, string>> = {
  "content-security-policy": POLICY,
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-frame-options": "DENY",
};

const FILE_TYPES: Readonly<Record<string, string>> = {
  "page.css": "text/css; charset=utf-8",
  "page.js": "text/javascript; charset=utf-8",
  "swagger-ui-bundle.js": "text/javascript; charset=utf-8",
  "swagger-ui.css": "text/css; charset=utf-8",
};

/** The last part of the path is the folder of the files, relative to the page. */
const pageAt = (folder: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Services</title>
<link rel="stylesheet" href="${folder}/swagger-ui.css">
<link rel="stylesheet" href="${folder}/page.css">
<link rel="icon" href="data:,">
</head>
<body>
<div id="ui"></div>
<script src="${folder}/swagger-ui-bundle.js"></script>
<script type="module" src="${folder}/page.js"></script>
</body>
</html>
`;

/** Creates the resource of the page at the path, and of its files below it, which `files` reads. */
export function createConsole(
  router: Pick<Router, "services" | "resources">,
  path: string,
  files: (name: string) => Promise<string>,
): Resource {
  const options = router.resources.find((one) => one instanceof DocumentResource)?.options ?? {};
  // Relative to the document (OpenAPI 3.1.1, section 4.6), so that it is right behind proxies that remove a path, too.
  const servers = options.servers ?? [{ url: "..", description: "The server of this page" }];
  const document = new DocumentResource(router, `${path}/openapi.json`, { ...options, servers });
  const page = pageAt(path.slice(path.lastIndexOf("/") + 1));
  const exchange = readOnly(async ({ path: target }) => {
    const [wanted = ""] = target.split("?", 1);
    if (wanted === path) return textResponse(200, "text/html; charset=utf-8", page, PAGE_FIELDS);
    const name = wanted.slice(path.length + 1);
    const type = Object.hasOwn(FILE_TYPES, name) ? FILE_TYPES[name] : undefined;
    if (type === undefined) return textResponse(404, TEXT_TYPE, `the page is at ${path}\n`, PAGE_FIELDS);
    return textResponse(200, type, await files(name), PAGE_FIELDS);
  });
  return {
    serves: (request) => request.path === path || request.path.startsWith(`${path}/`),
    exchange: (request) =>
      request.path.split("?", 1)[0] === `${path}/openapi.json` ? document.exchange(request) : exchange(request),
  };
}
