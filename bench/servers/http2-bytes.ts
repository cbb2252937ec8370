/** Bare `node:http2`, the bytes sent back unread. */
import { echoEnvelope } from "../echo.ts";
import { createHttp2Echo } from "./http2-echo.ts";
import { listen } from "./port.ts";

await listen(
  createHttp2Echo(
    (request) => request,
    () => echoEnvelope,
  ),
);
