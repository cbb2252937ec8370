/** A server of static files, for the built site. */
import { createReadStream, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { extname, join, normalize } from "node:path";

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".json": "application/json",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".woff2": "font/woff2",
};

/** Creates a server of the files in a folder. It does not listen yet. */
export function createStaticServer(folder: string): Server {
  return createServer((request, response) => {
    const file = findFile(folder, request.url ?? "/");
    if (file === undefined) {
      response.writeHead(404, { "content-type": "text/plain" }).end("not found");
      return;
    }
    response.setHeader("content-type", TYPES[extname(file)] ?? "application/octet-stream");
    createReadStream(file).pipe(response);
  });
}

/** The file of a request, `index.html` for a folder. `undefined` if there is none, or the path is invalid. */
function findFile(folder: string, url: string): string | undefined {
  try {
    // Removes segments `..` that were percent-encoded: an absolute path has none afterwards.
    const path = normalize(decodeURIComponent(new URL(url, "http://localhost").pathname));
    const file = path.endsWith("/") ? join(folder, path, "index.html") : join(folder, path);
    return statSync(file).isFile() ? file : undefined;
  } catch {
    return undefined;
  }
}
