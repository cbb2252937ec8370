/** Access tokens of Nacos. The server is the test's own: the login over HTTP, and requests over gRPC. */
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Code } from "triple-es";
import { createServer, createTransport } from "triple-es/node";
import { expect, it, onTestFinished, vi } from "vitest";
import { RequestDef } from "../../../../dubbo/src/gen/nacos/nacos_grpc_service_triple.ts";
import { NacosConnection } from "../../../../dubbo/src/registry/nacos/connection.ts";
import { createTokenSource } from "../../../../dubbo/src/registry/nacos/login.ts";

it("a token that the server refuses long before its end is replaced, at most every five seconds", async () => {
  let logins = 0;
  const http = createHttpServer((_, response) => {
    response.end(JSON.stringify({ accessToken: `token ${++logins}`, tokenTtl: 18_000 }));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void http.close());
  let accepted = "token 1";
  const server = createServer().add(RequestDef, {
    request({ metadata }) {
      const isAccepted = metadata?.headers["accessToken"] === accepted;
      const body = isAccepted ? { resultCode: 200 } : { resultCode: 500, errorCode: 403, message: "token invalid!" };
      return { body: { value: new TextEncoder().encode(JSON.stringify(body)) } };
    },
  });
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const transport = createTransport({ baseUrl: `http://127.0.0.1:${server.address.port}` });
  const address = { host: "127.0.0.1", port: (http.address() as AddressInfo).port };
  const token = createTokenSource([address], { username: "nacos", password: "nacos" }, undefined);
  const connection = new NacosConnection(transport, { module: "naming", namespace: "", token });
  onTestFinished(() => connection.end(new Error("the test is over")));
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());

  const codeOf = () =>
    connection.request("InstanceRequest", {}).then(
      () => "ok",
      ({ code }) => code as unknown,
    );
  expect(await codeOf()).toBe("ok");
  // The server has another key, with which it signs and verifies tokens.
  accepted = "token 2";
  expect([await codeOf(), await codeOf(), logins]).toEqual([Code.PermissionDenied, Code.PermissionDenied, 1]);
  vi.advanceTimersByTime(6_000);
  expect([await codeOf(), await codeOf(), logins]).toEqual([Code.PermissionDenied, "ok", 2]);
});
