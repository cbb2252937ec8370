/** Access tokens of Nacos. The server is the test's own: the login over HTTP, and requests over gRPC. */
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer as createTcpServer } from "node:net";
import { Code } from "triple-es";
import { createServer, createTransport } from "triple-es/node";
import { expect, it, onTestFinished, vi } from "vitest";
import { RequestDef } from "../../../../dubbo/src/gen/nacos/nacos_grpc_service_triple.ts";
import { NacosConnection } from "../../../../dubbo/src/registry/nacos/connection.ts";
import { createTokenSource } from "../../../../dubbo/src/registry/nacos/login.ts";

/** Starts a server that counts logins, and returns the source of its tokens. */
async function startLogin() {
  const state = { logins: 0, isUp: true };
  const http = createHttpServer(({ socket }, response) => {
    if (!state.isUp) return void socket.destroy();
    response.end(JSON.stringify({ accessToken: `token ${++state.logins}`, tokenTtl: 18_000 }));
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void http.close());
  const address = { host: "127.0.0.1", port: (http.address() as AddressInfo).port };
  return { state, token: createTokenSource([address], { username: "nacos", password: "nacos" }, undefined) };
}

function startClock(): void {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
}

it("a token that the server refuses long before its end is replaced, at most every five seconds", async () => {
  const { state, token } = await startLogin();
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
  const connection = new NacosConnection(transport, { module: "naming", namespace: "", token });
  onTestFinished(() => connection.end(new Error("the test is over")));
  startClock();

  const codeOf = () =>
    connection.request("InstanceRequest", {}).then(
      () => "ok",
      ({ code }) => code as unknown,
    );
  expect(await codeOf()).toBe("ok");
  // The server has another key, with which it signs and verifies tokens.
  accepted = "token 2";
  expect([await codeOf(), await codeOf(), state.logins]).toEqual([Code.PermissionDenied, Code.PermissionDenied, 1]);
  vi.advanceTimersByTime(6_000);
  expect([await codeOf(), await codeOf(), state.logins]).toEqual([Code.PermissionDenied, "ok", 2]);
});

it("the last token is used after a login that fails, and replaced later", async () => {
  const { state, token } = await startLogin();
  startClock();
  expect(await token(false)).toBe("token 1");
  vi.advanceTimersByTime(6_000);
  state.isUp = false;
  await expect(token(true)).rejects.toThrow();
  state.isUp = true;
  expect([await token(true), await token(false)]).toEqual(["token 1", "token 1"]);
  vi.advanceTimersByTime(6_000);
  expect(await token(true)).toBe("token 2");
});

it("a response to the login that breaks off after its head is an error of the login alone", async () => {
  const head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
  const server = createTcpServer((socket) => void socket.on("data", () => socket.end(`${head}no size\r\n`)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = { host: "127.0.0.1", port: (server.address() as AddressInfo).port };
  const token = createTokenSource([address], { username: "nacos", password: "nacos" }, undefined);
  await expect(token(false)).rejects.toMatchObject({ code: Code.Unavailable });
});
