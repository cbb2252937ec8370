/** A minimal server of sub-protocol A on `node:http`: it reads the request and responds with the converted body. */
import { createServer, type Server } from "node:http";

export function createHttp1Echo(contentType: string, convert: (request: Buffer) => Buffer): Server {
  return createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = convert(Buffer.concat(chunks));
      response.writeHead(200, { "content-type": contentType, "content-length": body.length });
      response.end(body);
    });
  });
}
