/** The least that a gRPC client on `node:http2` can do: one request on one session, the body and the status of the answer. */
import { connect } from "node:http2";
import { echoPath } from "../echo.ts";

const requestHeaders = {
  ":method": "POST",
  ":path": echoPath,
  "content-type": "application/grpc+proto",
  te: "trailers",
};

export function openHttp2Client(baseUrl: string): (request: Uint8Array) => Promise<Buffer> {
  const session = connect(baseUrl);
  return (request) =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let status: unknown;
      const stream = session.request(requestHeaders);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("trailers", (trailers) => {
        status = trailers["grpc-status"];
      });
      stream.on("end", () => {
        if (status === "0") resolve(Buffer.concat(chunks));
        else reject(new Error(`grpc-status ${status}`));
      });
      stream.on("error", reject);
      stream.end(request);
    });
}
