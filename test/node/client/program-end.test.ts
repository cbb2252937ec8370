/** A program ends successfully after its last call, whether or not it closes its transports. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { CallOptions } from "triple-es";
import { createServer, type Server } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { compiledText } from "../../support/compiled.ts";
import { freePort } from "../../support/port.ts";
import { startPeer } from "../../support/server.ts";

let server: Server;
beforeAll(async () => {
  const greet = ({ name }: { name: string }): { greeting: string } => ({ greeting: `Hello, ${name}!` });
  server = createServer().add(GreetServiceDef, { greet } as never);
  await server.listen({ port: 0, host: "127.0.0.1" });
});
afterAll(() => server.close({ graceMs: 0 }));

/** Runs a program that calls the server, and then `last`. Rejects if the exit status is not 0. */
async function runProgram(
  transport: string,
  last: string,
  { port = server.address.port, call = {} }: { readonly port?: number; readonly call?: CallOptions } = {},
): Promise<string> {
  const program = `
    import { createTransport } from "triple-es/node";
    import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";
    const transport = createTransport({ baseUrl: "http://127.0.0.1:${port}", ${transport} });
    const call = createGreetServiceClient(transport).greet({ name: "program" }, ${JSON.stringify(call)});
    ${last}
  `;
  return (await promisify(execFile)(process.execPath, [compiledText(program)])).stdout;
}

describe.each([
  ["HTTP/1.1", 'protocol: "http-rpc"'],
  ["HTTP/2", 'protocol: "grpc"'],
])("a program that has called over %s", (_, transport) => {
  it("ends without closing its transport", async () => {
    expect(await runProgram(transport, "console.log((await call).greeting);")).toBe("Hello, program!\n");
  });

  it("can close its transport", async () => {
    const last = `await call; await transport.close(); console.log("closed");`;
    expect(await runProgram(transport, last)).toBe("closed\n");
  });

  it("can close its transport while a call is running", async () => {
    const last = `const closed = transport.close(); await call.catch(() => {}); await closed; console.log("closed");`;
    expect(await runProgram(transport, last)).toBe("closed\n");
  });
});

describe.each([
  ["HTTP/1.1", 'protocol: "http-rpc", waitForReady: true'],
  ["HTTP/2", 'protocol: "grpc", waitForReady: true'],
])(
  "a program that has waited for a server over %s ends when nothing but attempts to connect is left",
  (_, transport) => {
    const last = `await call.catch(({ code }) => console.log("code", code));`;
    const call = { timeoutMs: 300 };

    it("when no server listens", async () => {
      expect(await runProgram(transport, last, { port: await freePort(), call })).toBe("code 4\n");
    });

    it("when the server accepts connections and sends nothing", async () => {
      const port = await startPeer((socket) => socket.resume());
      expect(await runProgram(transport, last, { port, call })).toBe("code 4\n");
    });
  },
);
