/** Bare `node:http`: an array of one JSON object in, through protobuf-es, one JSON object out. */
import { createHttp1Echo } from "./http1-echo.ts";
import { echoInJson } from "./json-echo.ts";
import { listen } from "./port.ts";

await listen(createHttp1Echo("application/json", echoInJson));
