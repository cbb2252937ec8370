/** Tools of models over HTTP, with the official client of the Model Context Protocol as the judge. */
import { once } from "node:events";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { Code, RpcError } from "triple-es";
import { addMcp } from "triple-es/mcp";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../support/server.ts";

it.each(["auto", "legacy"] as const)("the official client lists and calls tools: %s", async (mode) => {
  const { server, baseUrl } = await startServer({
    greet: ({ name }) => {
      if (name === "") throw new RpcError(Code.InvalidArgument, "the name is empty");
      return { greeting: `Hello, ${name}!` };
    },
  });
  addMcp(server, ["greet.v1.GreetService.Greet", "greet.v1.GreetService.GreetEach"]);
  const client = new Client({ name: "judge", version: "1.0.0" }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`)));
  expect(client.getNegotiatedProtocolVersion()).toBe(mode === "auto" ? "2026-07-28" : "2025-11-25");

  const { tools } = await client.listTools();
  expect(tools.map(({ name }) => name)).toEqual(["greet.v1.GreetService.Greet", "greet.v1.GreetService.GreetEach"]);

  // The client validates structured results by the schemas of the list.
  const greeted = await client.callTool({ name: "greet.v1.GreetService.Greet", arguments: { name: "Ada" } });
  expect(greeted.structuredContent).toEqual({ greeting: "Hello, Ada!" });
  const failed = await client.callTool({ name: "greet.v1.GreetService.Greet", arguments: { name: "" } });
  expect(failed).toMatchObject({ isError: true });

  const progress: unknown[] = [];
  const each = await client.callTool(
    { name: "greet.v1.GreetService.GreetEach", arguments: { names: ["Ada", "Bo"] } },
    { onprogress: ({ message }: { message?: string | undefined }) => progress.push(message) },
  );
  expect(progress).toEqual(['{"greeting":"Hello, Ada!"}', '{"greeting":"Hello, Bo!"}']);
  expect(each.structuredContent).toEqual({ messages: [{ greeting: "Hello, Ada!" }, { greeting: "Hello, Bo!" }] });

  await expect(client.callTool({ name: "unknown", arguments: {} })).rejects.toThrow();
});

it("a client that leaves cancels the call of its tool, which knows the client", async () => {
  let begin!: (address: string | undefined) => void;
  const begun = new Promise<string | undefined>((resolve) => {
    begin = resolve;
  });
  let end!: (sent: number) => void;
  const ended = new Promise<number>((resolve) => {
    end = resolve;
  });
  const { server, baseUrl } = await startServer({
    async *greetEach(_request, { peer, signal }) {
      begin(peer?.address);
      await once(signal, "abort");
      let sent = 0;
      try {
        while (sent++ < 1_000) yield { greeting: "late" };
      } finally {
        end(sent);
      }
    },
  });
  addMcp(server, ["greet.v1.GreetService.GreetEach"]);
  const client = new AbortController();
  const params = { name: "greet.v1.GreetService.GreetEach", arguments: {} };
  const answer = fetch(`${baseUrl}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
    signal: client.signal,
  });
  expect(await begun).toBe("127.0.0.1");
  client.abort();
  await expect(answer).rejects.toThrow("aborted");
  expect(await ended).toBeLessThan(1_000);
});
