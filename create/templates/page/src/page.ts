import { readFile } from "node:fs/promises";
import type { RequestListener } from "node:http";

const files = new Map([
  ["/", { type: "text/html; charset=utf-8", body: await readFile("dist/page/index.html") }],
  ["/main.js", { type: "text/javascript; charset=utf-8", body: await readFile("dist/page/main.js") }],
  ["/main.js.map", { type: "application/json", body: await readFile("dist/page/main.js.map") }],
]);

/** Answers all requests that are not calls: the page, its script and the map of that, which are read when the server starts. */
export const page: RequestListener = ({ url = "" }, response) => {
  const file = files.get(new URL(url, "http://localhost").pathname);
  if (file === undefined) response.writeHead(404, { "content-type": "text/plain" }).end("not found\n");
  else response.writeHead(200, { "content-type": file.type }).end(file.body);
};
