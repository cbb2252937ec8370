/** The API of the profile json of HttpArena: node|bun items.js PORT DATASET. With Bun it uses Bun.serve. */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, path] = process.argv.slice(2);
const dataset = JSON.parse(readFileSync(path, "utf8"));

function list(url) {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  const m = Number(searchParams.get("m"));
  const items = dataset
    .slice(0, Number(pathname.slice("/json/".length)))
    .map((item) => ({ ...item, total: item.price * item.quantity * m }));
  return { items, count: items.length };
}

if (globalThis.Bun) {
  globalThis.Bun.serve({ port, hostname: "127.0.0.1", fetch: ({ url }) => Response.json(list(url)) });
} else {
  createServer(({ url }, response) => {
    const body = Buffer.from(JSON.stringify(list(url)));
    response.writeHead(200, { "content-type": "application/json", "content-length": body.byteLength }).end(body);
  }).listen(Number(port), "127.0.0.1");
}
