import { readFileSync } from "node:fs";
import { createHTTPServer } from "@trpc/server/adapters/standalone";
import { router } from "./hello.js";

const files = new Map([
  ["/", { type: "text/html", body: readFileSync("page/index.html") }],
  ["/main.js", { type: "text/javascript", body: readFileSync("page/main.js") }],
]);
const port = Number(process.env["PORT"] ?? 8080);
createHTTPServer({
  router,
  middleware({ url = "" }, response, next) {
    const file = files.get(url);
    if (file === undefined) next();
    else response.writeHead(200, { "content-type": file.type }).end(file.body);
  },
}).listen(port, () => console.log(`listening at http://localhost:${port}`));
