/** A program ends by itself when its calls are over, whether or not it closes its transports, and always with success. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { createServer, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { ROOT } from "../support/documents.ts";

let server: Server;
beforeAll(async () => {
  const greet = ({ name }: { name: string }): { greeting: string } => ({ greeting: `Hello, ${name}!` });
  server = createServer().add(GreetServiceDef, { greet } as never);
  await server.listen({ port: 0, host: "127.0.0.1" });
});
afterAll(() => server.close({ graceMs: 0 }));

/** Runs a program that calls the server, then does `last`. A failed exit rejects. */
async function runProgram(transport: string, last: string): Promise<string> {
  const program = `
    import { createTransport } from "triple-es/node";
    import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";
    const transport = createTransport({ baseUrl: "http://127.0.0.1:${server.address.port}", ${transport} });
    const call = createGreetServiceClient(transport).greet({ name: "program" });
    ${last}
  `;
  const args = ["--conditions=triple-source", "--import", "tsx", "--input-type=module", "-e", program];
  return (await promisify(execFile)(process.execPath, args, { cwd: ROOT })).stdout;
}

describe.each([
  ["HTTP/1.1", 'protocol: "http-rpc"'],
  ["HTTP/2", 'protocol: "grpc"'],
])("a program that has called over %s", (_, transport) => {
  it("ends without closing its transport", async () => {
    expect(await runProgram(transport, "console.log((await call).greeting);")).toBe("Hello, program!\n");
  });

  it("gets to see its transport closed", async () => {
    const last = `await call; await transport.close(); console.log("closed");`;
    expect(await runProgram(transport, last)).toBe("closed\n");
  });

  it("gets to see its transport closed while a call was running", async () => {
    const last = `const closed = transport.close(); await call.catch(() => {}); await closed; console.log("closed");`;
    expect(await runProgram(transport, last)).toBe("closed\n");
  });
});
