import * as http2 from "node:http2";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { logger } from "./interceptors.js";
import routes from "./routes.js";

export function serve(port: number): Promise<http2.Http2Server> {
  const server = http2.createServer(connectNodeAdapter({ routes, interceptors: [logger], readMaxBytes: 1 << 20 }));
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}
