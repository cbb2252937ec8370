/**
 * The modules that a unary call over gRPC passes through, between the stub and the HTTP/2 engine and between the engine and
 * the handler, as docs/architecture.md lists them. They are read from the stacks of a call.
 */
import { createServer, createTransport } from "triple-es/node";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createGreetServiceClient, GreetServiceDef } from "../examples/gen/greet/v1/greet_triple.ts";
import { Metadata } from "../runtime/src/call/metadata.ts";
import { ClientRole } from "../runtime/src/http2/client.ts";
import { readDocument } from "./support/documents.ts";

const { stackTraceLimit } = Error;

afterEach(() => {
  vi.restoreAllMocks();
  Error.stackTraceLimit = stackTraceLimit;
});

/**
 * Adds the modules on the current stack, from the given one outwards, other than the engine, its sockets, and modules below
 * the layer of calls.
 */
function addModules(found: Set<string>, innermost = ""): void {
  Error.stackTraceLimit = 100;
  const { stack = "" } = new Error("trace");
  for (const [, module = ""] of stack.slice(stack.indexOf(innermost)).matchAll(/runtime\/src\/([\w/-]+\.ts)/g)) {
    if (!/^(?:call|http|codec|http2|protocol|node\/io|connection\/socket)\b/.test(module) && module !== "index.ts")
      found.add(module);
  }
}

/** Makes a call, and returns the modules of its client and of its server. */
async function traceCall(): Promise<{ readonly client: string[]; readonly server: string[] }> {
  const modules = { client: new Set<string>(), server: new Set<string>() };
  const greet = () => {
    addModules(modules.server);
    return { greeting: "Hello" };
  };
  const unused = () => Promise.reject(new Error("not called"));
  const methods = { greet, greetStream: unused, collect: unused, chat: unused };
  const server = createServer().add(GreetServiceDef, methods as never);
  await server.listen({ port: 0, host: "127.0.0.1" });
  const transport = createTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  const client = createGreetServiceClient(transport);
  // The first call also makes the connection.
  await client.greet({});
  modules.server.clear();
  vi.spyOn(ClientRole.prototype, "open").mockImplementation(function (this: ClientRole, ...arguments_) {
    addModules(modules.client);
    return open.apply(this, arguments_);
  });
  vi.spyOn(Metadata.prototype, "get").mockImplementation(function (this: Metadata, name) {
    // The server half of the protocol reads this field in the turn in which the engine dispatches the request.
    if (name === "grpc-timeout") addModules(modules.server, "runtime/src/grpc/server.ts");
    return get.call(this, name);
  });
  await client.greet({});
  vi.restoreAllMocks();
  await transport.close();
  await server.close();
  return { client: [...modules.client].sort(), server: [...modules.server].sort() };
}

const { open } = ClientRole.prototype;
const { get } = Metadata.prototype;

/** The modules in the architecture's table, without those that only some calls pass through. */
function listed(side: "client" | "server"): string[] {
  const table = readDocument("docs/architecture.md").split("## One unary call over gRPC")[1]?.split("\n\n")[1] ?? "";
  const rows = table.split("\n").map((row) => row.split("|").map((cell) => cell.trim()));
  const start = rows.findIndex(([, first]) => first === side);
  const end = rows.findIndex(([, first], index) => index > start && first !== "");
  return rows
    .slice(start, end < 0 ? undefined : end)
    .filter(([, , , step = ""]) => !step.startsWith("only "))
    .flatMap(([, , module = ""]) => /^`([^`]+)`$/.exec(module)?.[1] ?? [])
    .filter((module) => !module.startsWith("http2/"))
    .sort();
}

describe("a unary call over gRPC", () => {
  it("passes through the modules that the architecture lists", async () => {
    const { client, server } = await traceCall();
    expect({ client, server }).toEqual({ client: listed("client"), server: listed("server") });
  });

  it("passes through four modules of a server, and four of a client besides the one that counts running calls", async () => {
    const { client, server } = await traceCall();
    expect(server).toHaveLength(4);
    expect(client.filter((module) => module !== "client/transport.ts")).toHaveLength(4);
  });
});
