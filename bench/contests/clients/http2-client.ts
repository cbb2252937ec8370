/** A minimal gRPC client on `node:http2`: one request on one session, the body and the status of the response. */
import { connect } from "node:http2";

const requestHeaders = { ":method": "POST", "content-type": "application/grpc+proto", te: "trailers" };

/** Creates the function that makes a call and passes the chunks of the response on as they arrive. */
export function openHttp2Client(
  baseUrl: string,
): (path: string, request: Uint8Array, received: (chunk: Buffer) => void) => Promise<void> {
  const session = connect(baseUrl);
  return (path, request, received) =>
    new Promise((resolve, reject) => {
      let status: unknown;
      const stream = session.request({ ...requestHeaders, ":path": path });
      stream.on("data", received);
      stream.on("trailers", (trailers) => {
        status = trailers["grpc-status"];
      });
      stream.on("end", () => {
        if (status === "0") resolve();
        else reject(new Error(`grpc-status ${status}`));
      });
      stream.on("error", reject);
      stream.end(request);
    });
}
