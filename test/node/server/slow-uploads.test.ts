/** Load shedding beside slow uploads: calls whose bodies have not arrived are no load. */
import { connect } from "node:http2";
import { expect, it, onTestFinished } from "vitest";
import { Http1Connection } from "../../support/connection.ts";
import { connectGreeter, signalled, startServer } from "../../support/server.ts";

const GREET = "/greet.v1.GreetService/Greet";
/** So many that some are measured while others run, and that they would fill the limit of running calls that they cause. */
const UPLOADS = 64;

/** Begins an upload, of which only the head is sent. Resolves when it has been answered. */
type Upload = (timeoutMs: number) => Promise<unknown>;

function overHttp2(baseUrl: string): Upload {
  const session = connect(baseUrl);
  onTestFinished(() => session.destroy());
  return (timeoutMs) => {
    const headers = { "content-type": "application/grpc", "grpc-timeout": `${timeoutMs}m` };
    const stream = session.request({ ":method": "POST", ":path": GREET, ...headers });
    stream.on("error", () => {});
    return new Promise((resolve) => void stream.resume().on("close", resolve));
  };
}

function overHttp1(baseUrl: string): Upload {
  return async (timeoutMs) => {
    const connection = await Http1Connection.open(Number(new URL(baseUrl).port));
    onTestFinished(() => connection.destroy());
    const fields = ["host: a", "content-type: application/json", "content-length: 16"];
    connection.write(`POST ${GREET} HTTP/1.1\r\n${fields.join("\r\n")}\r\ntri-service-timeout: ${timeoutMs}\r\n\r\n`);
    return connection.answer();
  };
}

it.each([
  ["gRPC", overHttp2],
  ["HTTP RPC over HTTP/1.1", overHttp1],
])("uploads that stop after their heads, over %s, take no place of other calls", async (_, open) => {
  let counted = 0;
  const begun = signalled();
  const count = (): void => {
    if (++counted === 1 + 2 * UPLOADS) begun.resolve();
  };
  const { baseUrl } = await startServer({}, { shedLoad: true, authorize: count });
  const client = connectGreeter(baseUrl);
  await client.greet({});
  const upload = open(baseUrl);
  await Promise.all(Array.from({ length: UPLOADS }, () => upload(200)));
  // Those that are refused are answered.
  for (let i = 0; i < UPLOADS; i++) upload(60_000).then(count, () => {});
  await begun.promise;
  expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
});
