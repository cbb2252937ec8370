import { serve } from "@hono/node-server";
import { serveStatic } from "@hono/node-server/serve-static";
import { app } from "./hello.js";

app.use(serveStatic({ root: "page" }));
serve({ fetch: app.fetch, port: Number(process.env["PORT"] ?? 8080) }, ({ port }) =>
  console.log(`listening at http://localhost:${port}`),
);
