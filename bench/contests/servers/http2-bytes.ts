/** Minimal server on `node:http2` that returns the bytes without decoding them. */
import { echoEnvelope } from "../../messages/echo.ts";
import { createHttp2Echo } from "./http2-echo.ts";
import { listen } from "./port.ts";

await listen(
  createHttp2Echo(
    (request) => request,
    () => echoEnvelope,
  ),
);
