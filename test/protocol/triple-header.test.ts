/** The headers that the specification defines for users: they are sent, read and forwarded as metadata. */
import { TripleHeader } from "triple-es";
import { expect, it } from "vitest";
import { connectGreeter, startServer } from "../support/server.ts";

const HEADERS = {
  [TripleHeader.TraceId]: "0ba1b2c3",
  [TripleHeader.SpanId]: "0.1.2",
  [TripleHeader.UnitInfo]: "unit=GZ00A, zone=1",
  [TripleHeader.ConsumerAppName]: "shop",
};

it("have the names of the specification, and the one Dubbo adds", () => {
  expect(Object.keys(HEADERS)).toEqual([
    "tri-trace-traceid",
    "tri-trace-rpcid",
    "tri-unit-info",
    "tri-consumer-appname",
  ]);
});

it.each(["grpc", "http-rpc"] as const)("reach a handler, and the server that it calls: %s", async (protocol) => {
  const seen: unknown[] = [];
  const behind = await startServer({
    greet: (_, { requestHeaders }) => {
      seen.push(Object.keys(HEADERS).map((name) => requestHeaders.get(name)));
      return {};
    },
  });
  const further = connectGreeter(behind.baseUrl, { protocol });
  const { baseUrl } = await startServer({
    greet: (request, { requestHeaders }) => {
      seen.push(Object.keys(HEADERS).map((name) => requestHeaders.get(name)));
      return further.greet(request, { headers: requestHeaders.filter((name) => name in HEADERS) });
    },
  });
  await connectGreeter(baseUrl, { protocol }).greet({}, { headers: HEADERS });
  expect(seen).toEqual([Object.values(HEADERS), Object.values(HEADERS)]);
});
