/** Transports through an HTTP proxy: tunnels by CONNECT. */
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { Code } from "triple-es";
import { fixed } from "triple-es/discovery";
import { createTransport, type NodeTransportOptions } from "triple-es/node";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { arriving, connectGreeter, failureOf, greetings, startPeer, startServer } from "../../support/server.ts";

const CLIENTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
] as const;
const OK = "HTTP/1.1 200 Connection established\r\n\r\n";
const SECRET = "Open%20Sesame";

interface RunningProxy {
  readonly url: string;
  readonly name: string;
  /** The targets and credentials of the requests for tunnels. */
  readonly requests: (readonly [target: string | undefined, authorization: string | undefined])[];
  readonly sockets: Set<Socket>;
}

/** Starts a proxy that connects all names to this machine. `answer` is sent for a tunnel that was made. */
async function startProxy(answer: (socket: Socket) => void = (socket) => socket.write(OK)): Promise<RunningProxy> {
  const requests: RunningProxy["requests"] = [];
  const sockets = new Set<Socket>();
  const proxy = createHttpServer((_request, response) => response.writeHead(405).end());
  proxy.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => {});
  });
  proxy.on("connect", ({ url, headers }, socket: Socket) => {
    expect(headers.host).toBe(url);
    requests.push([url, headers["proxy-authorization"]]);
    const { port } = new URL(`http://${url}`);
    const target = connect({ host: "127.0.0.1", port: Number(port) }, () => {
      answer(socket);
      socket.pipe(target).pipe(socket);
    });
    target.on("error", () => socket.destroy());
    socket.on("close", () => target.destroy());
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const name = `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return { url: `http://${name}`, name, requests, sockets };
}

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("a proxy", () => {
  it.each(CLIENTS)("does not hide invalid options of TLS: $protocol over HTTP/$httpVersion", async (options) => {
    const { port } = await startServer();
    const { url } = await startProxy();
    const tls = { ciphers: "none" };
    const greeter = connectGreeter(`https://greet.invalid:${port}`, { ...options, proxy: url, tls });
    const error = await failureOf(greeter.greet({}));
    expect(error.code).toBe(Code.Unavailable);
    expect(error.message).toMatch(/cipher/i);
  });

  it.each(CLIENTS)("carries calls in cleartext: $protocol over HTTP/$httpVersion", async (options) => {
    const { port } = await startServer();
    const { url, requests } = await startProxy();
    const greeter = connectGreeter(`http://greet.invalid:${port}`, { ...options, proxy: url });
    for (const name of ["Ada", "Grace"]) expect((await greeter.greet({ name })).greeting).toBe(`Hello, ${name}!`);
    expect(requests).toEqual([[`greet.invalid:${port}`, undefined]]);
  });

  it("carries streams in both directions, and is left when the transport closes", async () => {
    const { port } = await startServer();
    const { url, sockets } = await startProxy();
    const transport = createTransport({ baseUrl: `http://greet.invalid:${port}`, proxy: url });
    const responses = createGreetServiceClient(transport).greetOnArrival(arriving("Ada", "Grace"));
    expect(await greetings(responses)).toEqual(["Hello, Ada!", "Hello, Grace!"]);
    expect(sockets.size).toBe(1);
    await transport.close();
    await expect.poll(() => sockets.size).toBe(0);
  });

  it.each([
    ["user:password@", "user:password"],
    ["user@", "user:"],
    [":password@", ":password"],
    ["us%40er:p%3A%2F%C3%A9@", "us@er:p:/é"],
    ["", undefined],
  ])("gets the credentials in its URL: %j", async (userinfo, credentials) => {
    const { port } = await startServer();
    const { name, requests } = await startProxy();
    await connectGreeter(`http://greet.invalid:${port}`, { proxy: `http://${userinfo}${name}` }).greet({});
    const basic = credentials && `Basic ${Buffer.from(credentials).toString("base64")}`;
    expect(requests).toEqual([[`greet.invalid:${port}`, basic]]);
  });

  it("may be given without a scheme, and gets IPv6 addresses in brackets and a port always", async () => {
    const { name, requests } = await startProxy((socket) => socket.end());
    for (const host of ["[fd00::1]", "greet.invalid"]) {
      await failureOf(connectGreeter(`http://${host}`, { proxy: name, maxBackoffMs: 0 }).greet({}));
    }
    expect(new Set(requests.map(([target]) => target))).toEqual(new Set(["[fd00::1]:80", "greet.invalid:80"]));
  });

  it.each([
    ["with a status other than 200", "HTTP/1.1 204 No Content\r\nproxy-agent: test\r\n\r\n"],
    ["after interim responses", `HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n${OK}`],
    ["with lengths that say nothing", "HTTP/1.1 200 OK\r\ncontent-length: 1, 2\r\ntransfer-encoding: chunked\r\n\r\n"],
  ])("may answer %s, at once and byte by byte", async (_, head) => {
    const { port } = await startServer();
    for (const parts of [[head], head]) {
      const { url } = await startProxy((socket) => {
        for (const part of parts) socket.write(part);
      });
      const greeter = connectGreeter(`http://greet.invalid:${port}`, { proxy: url });
      expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    }
  });

  it("may pass on the first bytes of the server with its answer", async () => {
    const { port } = await startServer();
    const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
    const { url } = await startProxy((socket) => socket.write(Buffer.concat([Buffer.from(OK), settings])));
    const greeter = connectGreeter(`http://greet.invalid:${port}`, { proxy: url });
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it.each<[kind: string, answer: string | undefined, reason: string]>([
    [
      "407",
      "HTTP/1.1 407 Proxy Authentication Required\r\nproxy-authenticate: Basic realm=a\r\n\r\n",
      "the proxy answered CONNECT with 407: set user name and password in its URL",
    ],
    [
      "503 and text",
      "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 2\r\n\r\nno",
      "the proxy answered CONNECT with 503",
    ],
    [
      "a redirection",
      "HTTP/1.1 302 Found\r\nlocation: http://login.example\r\n\r\n",
      "the proxy answered CONNECT with 302",
    ],
    ["another protocol", "SSH-2.0-OpenSSH_9.2\r\n", "the response of the proxy is malformed"],
    ["TLS", "\x15\x03\x01\x00\x02\x02\x46", "the response of the proxy is malformed"],
    ["endless fields", `HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(5_000)}`, "the response of the proxy is malformed"],
    ["the end of the connection", "", "the proxy closed the connection before it answered CONNECT"],
    ["half a response", "HTTP/1.1 200 OK\r\na: ", "the proxy closed the connection before it answered CONNECT"],
    ["a reset", undefined, "the proxy closed the connection before it answered CONNECT"],
  ])("that answers with %s fails calls as unavailable, without its credentials", async (_, answer, reason) => {
    const port = await startPeer((socket) =>
      socket.once("data", () => (answer === undefined ? socket.resetAndDestroy() : socket.end(answer, "latin1"))),
    );
    for (const options of CLIENTS) {
      const proxy = `http://Ali:${SECRET}@127.0.0.1:${port}`;
      const error = await failureOf(connectGreeter("http://greet.invalid", { ...options, proxy }).greet({}));
      expect(error.code).toBe(Code.Unavailable);
      expect(error.rawMessage).toBe(
        `connection to greet.invalid through the proxy 127.0.0.1:${port} failed: ${reason}`,
      );
      expect(`${error.stack} ${error.cause}`).not.toMatch(/Sesame|Ali|QWxp/);
    }
  });

  it("that cannot be reached is named, and so is one that does not answer", async () => {
    const closed = await startProxy();
    const silent = await startPeer(() => {});
    const options: Omit<NodeTransportOptions, "baseUrl"> = { connectTimeoutMs: 1_000, maxBackoffMs: 0 };
    const errorOf = (proxy: string) =>
      failureOf(connectGreeter("http://greet.invalid", { ...options, proxy }).greet({}));
    expect((await errorOf("http://127.0.0.1:1")).rawMessage).toBe(
      "connection to greet.invalid through the proxy 127.0.0.1:1 failed: connect ECONNREFUSED 127.0.0.1:1",
    );
    expect((await errorOf(`http://127.0.0.1:${silent}`)).rawMessage).toBe(
      `connection to greet.invalid through the proxy 127.0.0.1:${silent} failed: no connection within 1000 ms`,
    );
    expect(closed.requests).toEqual([]);
  });

  it("that does not answer is left when the call is cancelled and the transport closes", async () => {
    const opened = new Set<Socket>();
    const port = await startPeer((socket) => {
      opened.add(socket);
      socket.on("close", () => opened.delete(socket)).resume();
    });
    const transport = createTransport({ baseUrl: "http://greet.invalid", proxy: `http://127.0.0.1:${port}` });
    const controller = new AbortController();
    const call = createGreetServiceClient(transport).greet({}, { signal: controller.signal });
    await expect.poll(() => opened.size).toBe(1);
    controller.abort();
    expect((await failureOf(call)).code).toBe(Code.Canceled);
    await transport.close();
    await expect.poll(() => opened.size).toBe(0);
  });

  it("of a balanced transport gets the addresses of the endpoints, and only if the option asks for it", async () => {
    const { port } = await startServer();
    const { url, requests } = await startProxy();
    vi.stubEnv("HTTPS_PROXY", url);
    const call = async (proxy: string | undefined): Promise<void> => {
      const transport = createTransport({ resolver: fixed([`127.0.0.1:${port}`]), authority: "greet.invalid", proxy });
      onTestFinished(() => transport.close());
      await createGreetServiceClient(transport).greet({});
    };
    await call(undefined);
    await call("env");
    expect(requests).toEqual([]);
    await call(url);
    expect(requests).toEqual([[`127.0.0.1:${port}`, undefined]]);
  });

  it("with an invalid URL is refused, without its credentials", () => {
    const refused =
      "proxy must be the URL of a proxy, such as http://proxy.example:3128; other schemes than http are not supported";
    const open = (proxy: unknown) => () =>
      createTransport({ baseUrl: "https://greet.invalid", proxy: proxy as string });
    for (const proxy of [
      "",
      "https://a:b@c",
      "socks5://a",
      "http://",
      "http://a:b:c@d:x",
      "http://%ff:a@b",
      true,
      {},
    ]) {
      expect(open(proxy)).toThrow(new TypeError(refused));
      const resolver = fixed(["127.0.0.1:1"]);
      expect(() => createTransport({ resolver, proxy: proxy as string })).toThrow(new TypeError(refused));
    }
    vi.stubEnv("HTTPS_PROXY", `https://Ali:${SECRET}@proxy.example`);
    expect(open("env")).toThrow(new TypeError(`the variable HTTPS_PROXY${refused.slice("proxy".length)}`));
    expect(open(undefined)).toThrow("the variable HTTPS_PROXY must be");
    expect(open(false)).not.toThrow();
    expect(() => createTransport({ baseUrl: "https://localhost" })).not.toThrow();
    expect(() => createTransport({ baseUrl: "unix:/run/a.sock", proxy: "env" })).toThrow(
      "proxy has no effect on a Unix socket",
    );
  });
});

describe.skipIf(!hasOpenssl)("a proxy of connections with TLS (needs openssl)", () => {
  const certificates = (hasOpenssl ? sharedCertificates() : undefined) as Certificates;
  const { ca, server: identity, client } = certificates ?? {};
  const tls = { ca, ...client, servername: "localhost" };
  const start = async () => {
    const { port } = await startServer(
      { greet: (_, { peer }) => ({ greeting: peer.tls?.identity[0] ?? "" }) },
      { tls: { ...identity, ca, requestCert: true } },
    );
    return { port, baseUrl: `https://greet.invalid:${port}` };
  };

  it.each(CLIENTS)("carries calls of both sides' certificates: $protocol over HTTP/$httpVersion", async (options) => {
    const { port, baseUrl } = await start();
    const { url, requests, sockets } = await startProxy();
    const transport = createTransport({ ...options, baseUrl, tls, proxy: url });
    for (let i = 0; i < 2; i++) expect((await createGreetServiceClient(transport).greet({})).greeting).toBe("client");
    expect(requests).toEqual([[`greet.invalid:${port}`, undefined]]);
    await transport.close();
    await expect.poll(() => sockets.size).toBe(0);
  });

  it("does not hide the certificate of another server", async () => {
    const { baseUrl } = await start();
    const { url, name } = await startProxy();
    const { rawMessage } = await failureOf(
      connectGreeter(baseUrl, { tls: { ...tls, servername: "greet.invalid" }, proxy: url }).greet({}),
    );
    expect(rawMessage).toContain(`${baseUrl.slice("https://".length)} through the proxy ${name} failed: Hostname/IP`);
  });

  // An address of this machine that no rule excludes from the proxy.
  const HERE = "0.0.0.0";

  it.each<[variables: Record<string, string>, proxy: string | false | undefined, isUsed: boolean]>([
    [{ HTTPS_PROXY: "URL" }, undefined, true],
    [{ https_proxy: "URL" }, undefined, true],
    [{ HTTPS_PROXY: "URL", https_proxy: "http://127.0.0.1:1" }, undefined, true],
    [{ HTTPS_PROXY: "URL", NO_PROXY: "0.0.0.1" }, "env", true],
    [{ HTTPS_PROXY: "http://127.0.0.1:1", NO_PROXY: HERE }, "URL", true],
    [{ HTTPS_PROXY: "URL", NO_PROXY: HERE }, undefined, false],
    [{ HTTPS_PROXY: "URL", no_proxy: "0.0.0.0/8" }, undefined, false],
    [{ HTTPS_PROXY: "URL" }, false, false],
    [{ HTTP_PROXY: "URL", http_proxy: "URL" }, undefined, false],
    [{}, "env", false],
  ])("is read from the environment: %j, option %j, is used: %j", async (variables, proxy, isUsed) => {
    const { port } = await start();
    const { url, requests } = await startProxy();
    for (const name of ["HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY"]) {
      for (const one of [name, name.toLowerCase()]) vi.stubEnv(one, variables[one]?.replace("URL", url));
    }
    const option = proxy === "URL" ? url : proxy;
    const greeter = connectGreeter(`https://${HERE}:${port}`, { tls, proxy: option });
    expect((await greeter.greet({})).greeting).toBe("client");
    expect(requests).toEqual(isUsed ? [[`${HERE}:${port}`, undefined]] : []);
  });

  it("is not read from the environment for a server without TLS, unless the option asks for it", async () => {
    const { port } = await startServer();
    const { url, requests } = await startProxy();
    vi.stubEnv("HTTPS_PROXY", url);
    for (const [proxy, used] of [
      [undefined, 0],
      ["env", 1],
    ] as const) {
      await connectGreeter(`http://${HERE}:${port}`, { proxy }).greet({});
      expect(requests).toHaveLength(used);
    }
  });
});
