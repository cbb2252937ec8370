/**
 * A minimal server on `node:http` that parses the whole body with `JSON.parse` and decodes it with protobuf-es, at once.
 */
import { createRegistry, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { StructSchema } from "@bufbuild/protobuf/wkt";
import { createHttp1Echo } from "../../contests/servers/http1-echo.ts";
import { listen } from "../../contests/servers/port.ts";
import { CostlySchema } from "../../messages/gen/costly_pb.ts";

const registry = createRegistry(StructSchema, CostlySchema);
const TAKEN = Buffer.from("{}");

const server = createHttp1Echo("application/json", (request) => {
  const value = JSON.parse(request.toString()) as JsonValue;
  // Clients of triple-es send an array of one argument, attackers the argument alone.
  const message = Array.isArray(value) ? (value[0] as JsonValue) : value;
  fromJson(CostlySchema, message, { ignoreUnknownFields: true, registry });
  return TAKEN;
});
// Under attack, the event loop may be blocked for longer than the default of 5 s.
server.keepAliveTimeout = 60_000;
await listen(server);
