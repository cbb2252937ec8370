/**
 * Minimal server on `node:http`: it receives an array of one JSON object and sends one JSON object, both converted by
 * protobuf-es.
 */
import { createHttp1Echo } from "./http1-echo.ts";
import { echoInJson } from "./json-echo.ts";
import { listen } from "./port.ts";

await listen(createHttp1Echo("application/json", echoInJson));
