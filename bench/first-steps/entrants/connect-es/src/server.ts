import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { routes } from "./hello.js";

const files = new Map([
  ["/", { type: "text/html", body: readFileSync("page/index.html") }],
  ["/main.js", { type: "text/javascript", body: readFileSync("page/main.js") }],
]);
const handler = connectNodeAdapter({
  routes,
  fallback({ url = "" }, response) {
    const file = files.get(url);
    response.statusCode = file === undefined ? 404 : 200;
    if (file !== undefined) response.setHeader("content-type", file.type);
    response.end(file?.body ?? "not found");
  },
});
const port = Number(process.env["PORT"] ?? 8080);
createServer(handler).listen(port, () => console.log(`listening at http://localhost:${port}`));
