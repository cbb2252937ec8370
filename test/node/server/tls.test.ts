/** TLS: ALPN selects the version of HTTP, and both sides may require certificates. */
import { once } from "node:events";
import { connect as connectHttp2 } from "node:http2";
import { type ConnectionOptions, connect, createSecureContext, type TLSSocket, type TlsOptions } from "node:tls";
import { Code } from "triple-es";
import { createServer, createTransport } from "triple-es/node";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createGreetServiceClient } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { spiffeProblem } from "../../../runtime/src/node/io/tls-options.ts";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { Http1Connection } from "../../support/connection.ts";
import { pause } from "../../support/pause.ts";
import {
  connectGreeter,
  failureOf,
  openSocket,
  openTransport,
  type RunningServer,
  signalled,
  startServer,
} from "../../support/server.ts";

const PATH = "/greet.v1.GreetService/Greet";

describe.skipIf(!hasOpenssl)("TLS (needs openssl)", () => {
  const certificates = (hasOpenssl ? sharedCertificates() : undefined) as Certificates;
  const { ca, server: identity, client, named, service, stranger, expired } = certificates ?? {};

  const start = (): Promise<RunningServer> => startServer({}, { tls: identity });
  const startMutual = (): Promise<RunningServer> =>
    startServer({}, { tls: { ...identity, ca, requestCert: true, rejectUnauthorized: true } });

  async function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
    const socket = connect({ port, host: "127.0.0.1", ca, ...options });
    onTestFinished(() => {
      socket.destroy();
    });
    await new Promise((resolve, reject) => {
      socket.once("secureConnect", resolve);
      socket.once("error", reject);
    });
    return socket;
  }

  it("accepts connections with any headersTimeoutMs, also one longer than timers", async () => {
    for (const headersTimeoutMs of [Number.POSITIVE_INFINITY, 2 ** 40]) {
      const { baseUrl } = await startServer({}, { tls: identity, limits: { headersTimeoutMs } });
      const greeter = connectGreeter(baseUrl, { tls: { ca } });
      expect(await greeter.greet({ name: "Ada" })).toMatchObject({ greeting: "Hello, Ada!" });
    }
  });

  it("reports failed handshakes to onTlsError, and survives its errors", async () => {
    const failures: [Error, string | undefined][] = [];
    const printed = vi.spyOn(console, "error").mockImplementation(() => {});
    const { port, baseUrl } = await startServer(
      {},
      {
        tls: { ...identity, ca, requestCert: true, rejectUnauthorized: true },
        onTlsError: (error, { address }) => {
          failures.push([error, address]);
          throw new Error("from the hook");
        },
      },
    );
    (await openSocket(port)).write("GET / HTTP/1.1\r\nhost: a\r\n\r\n");
    await expect.poll(() => failures.length).toBe(1);
    expect(failures[0]).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/http request/) }),
      "127.0.0.1",
    ]);
    await failureOf(connectGreeter(baseUrl, { tls: { ca } }).greet({}));
    await expect.poll(() => failures.length).toBeGreaterThan(1);
    expect(failures[1]?.[0]).toMatchObject({ code: "ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE" });
    expect((await connectGreeter(baseUrl, { tls: { ca, ...client } }).greet({ name: "Ada" })).greeting).toBe(
      "Hello, Ada!",
    );
    expect(printed.mock.calls[0]?.[0]).toContain("onTlsError");
    printed.mockRestore();
  });

  it("reports to onTlsError why a client's certificate is refused", async () => {
    const failures: Error[] = [];
    const tls = { ...identity, ca, requestCert: true, rejectUnauthorized: true };
    const { baseUrl } = await startServer({}, { tls, onTlsError: (error) => failures.push(error) });
    await failureOf(connectGreeter(baseUrl, { tls: { ca, ...stranger } }).greet({}));
    await failureOf(connectGreeter(baseUrl, { tls: { ca, ...expired } }).greet({}));
    const codes = new Set(failures.map((error) => "code" in error && error.code));
    expect(codes).toEqual(new Set(["DEPTH_ZERO_SELF_SIGNED_CERT", "CERT_HAS_EXPIRED"]));
    expect(failures[0]?.message).toBe("the client's certificate is refused: DEPTH_ZERO_SELF_SIGNED_CERT");
  });

  it("can be cancelled while the handshake completes, without an error outside the call", async () => {
    const thrown: unknown[] = [];
    const onThrown = (error: unknown): unknown => thrown.push(error);
    process.on("uncaughtException", onThrown);
    onTestFinished(() => {
      process.off("uncaughtException", onThrown);
    });
    const { baseUrl } = await start();
    const closed = signalled();
    // Cancelled during the event that creates the session, which emits an event one tick later.
    const checkServerIdentity = (): undefined => {
      process.nextTick(() => transport.close().then(closed.resolve));
    };
    const tls = { ca, checkServerIdentity };
    const transport = openTransport(baseUrl, { tls });
    const controller = new AbortController();
    const call = createGreetServiceClient(transport).greet({}, { signal: controller.signal });
    controller.abort();
    expect((await failureOf(call)).code).toBe(Code.Canceled);
    await closed.promise;
    await pause(20);
    expect(thrown).toEqual([]);
  });

  it("prefers HTTP/2 if a client accepts both", async () => {
    const { port } = await start();
    const socket = await handshake(port, { ALPNProtocols: ["http/1.1", "h2"] });
    expect(socket.alpnProtocol).toBe("h2");
  });

  it.each(["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384"])(
    "refuses %s with TLS 1.2, which HTTP/2 prohibits, unless the options allow it",
    async (ciphers) => {
      const { port } = await start();
      const offer = { ALPNProtocols: ["h2"], ciphers, maxVersion: "TLSv1.2" } as const;
      await expect(handshake(port, offer)).rejects.toThrow(/handshake failure/);
      const { port: lenient } = await startServer({}, { tls: { ...identity, ciphers } });
      expect((await handshake(lenient, offer)).getCipher().name).toBe(ciphers);
    },
  );

  it.each([
    ["ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2"],
    ["ECDHE-ECDSA-AES256-GCM-SHA384", "TLSv1.2"],
    ["ECDHE-ECDSA-CHACHA20-POLY1305", "TLSv1.2"],
    ["TLS_AES_128_GCM_SHA256", "TLSv1.3"],
    ["TLS_AES_256_GCM_SHA384", "TLSv1.3"],
    ["TLS_CHACHA20_POLY1305_SHA256", "TLSv1.3"],
  ] as const)("accepts %s with %s", async (ciphers, version) => {
    const { port } = await start();
    const socket = await handshake(port, { ALPNProtocols: ["h2"], ciphers, minVersion: version, maxVersion: version });
    expect(socket.getCipher().name).toBe(ciphers);
  });

  it("a client refuses the cipher suites that HTTP/2 prohibits, unless its options allow them", async () => {
    const ciphers = "ECDHE-ECDSA-AES128-SHA";
    const { baseUrl } = await startServer({}, { tls: { ...identity, ciphers, maxVersion: "TLSv1.2" } });
    const { code, rawMessage } = await failureOf(connectGreeter(baseUrl, { tls: { ca } }).greet({}));
    expect([code, rawMessage]).toEqual([Code.Unavailable, expect.stringMatching(/handshake failure/)]);
    const lenient = connectGreeter(baseUrl, { tls: { ca, ciphers } });
    expect((await lenient.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("a client over HTTP/2 refuses a server that does not negotiate by ALPN, unless its options allow it", async () => {
    const tls = { ...identity, ALPNProtocols: [] };
    const { port, baseUrl } = await startServer({}, { tls });
    const { code, rawMessage } = await failureOf(connectGreeter(baseUrl, { tls: { ca } }).greet({}));
    expect([code, rawMessage]).toEqual([
      Code.Unavailable,
      `connection to 127.0.0.1:${port} failed: the server did not negotiate HTTP/2 by ALPN (if it speaks HTTP/2 nevertheless, set tls.ALPNProtocols to [])`,
    ]);
    const lenient = connectGreeter(baseUrl, { tls: { ca, ALPNProtocols: [] } });
    expect((await lenient.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    const overHttp1 = connectGreeter(baseUrl, { protocol: "http-rpc", httpVersion: "1.1", tls: { ca } });
    expect((await overHttp1.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("serves HTTP/1.1 to a client that takes nothing else", async () => {
    const { port } = await start();
    const socket = await handshake(port, { ALPNProtocols: ["http/1.1"] });
    expect(socket.alpnProtocol).toBe("http/1.1");
    const answer = await new Http1Connection(socket).post(PATH, { "content-type": "application/json" }, "[{}]");
    expect(answer.status).toBe(200);
  });

  it("serves a client that does not negotiate by its first bytes", async () => {
    const { port } = await start();
    const polite = await handshake(port, {});
    expect(polite.alpnProtocol).toBe(false);
    const answer = await new Http1Connection(polite).post(PATH, { "content-type": "application/json" }, "[{}]");
    expect(answer.status).toBe(200);

    // Clients of Dubbo for Java behave in this way.
    const presumptuous = await handshake(port, {});
    expect(presumptuous.alpnProtocol).toBe(false);
    const session = connectHttp2(`https://localhost:${port}`, { createConnection: () => presumptuous });
    onTestFinished(() => session.destroy());
    const stream = session.request({ ":method": "POST", ":path": PATH, "content-type": "application/grpc" });
    stream.end(Buffer.alloc(5));
    stream.resume();
    const [trailers] = (await once(stream, "trailers")) as [Record<string, string>];
    expect(trailers["grpc-status"]).toBe("0");
  });

  it("answers calls over HTTP/2 and HTTP/1.1 from one port", async () => {
    const { baseUrl } = await start();
    for (const options of [{ protocol: "grpc" }, { protocol: "http-rpc" }] as const) {
      const greeter = connectGreeter(baseUrl, { ...options, tls: { ca } });
      expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    }
  });

  it("a server refuses to be created without a certificate that it can present", () => {
    const { cert, key } = identity;
    for (const tls of [{}, { ca, requestCert: true }, { cert: undefined, key: undefined }]) {
      expect(() => createServer({ tls })).toThrow("tls needs key and cert, or pfx, or SNICallback");
    }
    expect(() => createServer({ tls: { cert } })).toThrow("tls.cert needs tls.key");
    expect(() => createServer({ tls: { key } })).toThrow("tls.key needs tls.cert");
    const SNICallback: TlsOptions["SNICallback"] = (_name, answer) => answer(null, createSecureContext(identity));
    expect(() => createServer({ tls: { SNICallback } })).not.toThrow();
    expect(() => createServer({ tls: { pskCallback: () => null, ciphers: "PSK" } })).not.toThrow();
  });

  it("a transport refuses half of a client certificate", () => {
    const { cert, key } = client;
    const baseUrl = "https://127.0.0.1:1";
    expect(() => createTransport({ baseUrl, tls: { ca, cert } })).toThrow("tls.cert needs tls.key");
    expect(() => createTransport({ baseUrl, tls: { ca, key } })).toThrow("tls.key needs tls.cert");
    expect(() => createTransport({ baseUrl, tls: { ca, key, cert } })).not.toThrow();
  });

  it("a transport refuses TLS options for a base URL without TLS, because the calls would go in cleartext", () => {
    const open = (baseUrl: string, tls: object | undefined) => () => createTransport({ baseUrl, tls });
    for (const tls of [{}, { ca }, { ...client, ca }, { ca: undefined }, { rejectUnauthorized: false }]) {
      expect(open("http://127.0.0.1:1", tls)).toThrow(
        new TypeError('baseUrl "http://127.0.0.1:1" has no TLS: begin it with https://, or remove the option tls'),
      );
      expect(open("unix:/run/greet.sock", tls)).toThrow(
        new TypeError('baseUrl "unix:/run/greet.sock" has no TLS: remove the option tls'),
      );
    }
    expect(open("http://127.0.0.1:1", undefined)).not.toThrow();
    expect(open("unix:/run/greet.sock", undefined)).not.toThrow();
  });

  it("a path in place of a certificate or key is refused on both sides", () => {
    for (const path of ["certs/ca.crt", [ca, "certs/ca.crt"], Buffer.from("certs/ca.crt")]) {
      for (const name of ["ca", "cert", "key"]) {
        const problem = `tls.${name} must be the text of a PEM file`;
        const tls = { ...identity, [name]: path };
        expect(() => createServer({ tls })).toThrow(problem);
        expect(() => createTransport({ baseUrl: "https://127.0.0.1:1", tls })).toThrow(problem);
      }
    }
    const encrypted = { pem: identity.key, passphrase: "none" };
    expect(() => createServer({ tls: { ...identity, key: [encrypted] } })).not.toThrow();
    expect(() => createTransport({ baseUrl: "https://127.0.0.1:1", tls: { ca: [Buffer.from(ca)] } })).not.toThrow();
  });

  it.each([{ protocol: "grpc" }, { protocol: "http-rpc" }] as const)(
    "a $protocol client refuses a server with an untrusted certificate, unless an option allows it",
    async (options) => {
      const { baseUrl } = await start();
      const { code, rawMessage } = await failureOf(connectGreeter(baseUrl, options).greet({}));
      expect(code).toBe(Code.Unavailable);
      expect(rawMessage).toMatch(/connection to 127\.0\.0\.1:\d+ failed: unable to verify/);
      const careless = connectGreeter(baseUrl, { ...options, tls: { rejectUnauthorized: false } });
      expect((await careless.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    },
  );

  it.each([{ protocol: "grpc" }, { protocol: "http-rpc" }] as const)(
    "a $protocol client refuses a certificate of another host",
    async (options) => {
      const { baseUrl } = await start();
      const { code, rawMessage } = await failureOf(
        connectGreeter(baseUrl, { ...options, tls: { ca, servername: "other.example" } }).greet({}),
      );
      expect(code).toBe(Code.Unavailable);
      expect(rawMessage).toContain("other.example");
    },
  );

  it.each([{ protocol: "grpc" }, { protocol: "http-rpc" }] as const)(
    "a server that asks for certificates takes the calls of a $protocol client it trusts, and of no other",
    async (options) => {
      const { baseUrl } = await startMutual();
      const trusted = connectGreeter(baseUrl, { ...options, tls: { ca, ...client } });
      expect((await trusted.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
      for (const tls of [{ ca }, { ca, ...stranger }]) {
        expect((await failureOf(connectGreeter(baseUrl, { ...options, tls }).greet({}))).code).toBe(Code.Unavailable);
      }
    },
  );

  it("a server that requests certificates trusts no expired one, and resumes no session of a refused one", async () => {
    const { port, baseUrl } = await startMutual();
    const old = connectGreeter(baseUrl, { tls: { ca, ...expired } });
    expect((await failureOf(old.greet({}))).code).toBe(Code.Unavailable);
    for (const refused of [{}, stranger, expired]) {
      // TLS 1.3: the client is connected from its point of view, and may have received a ticket.
      const sessions: Buffer[] = [];
      const visit = async (session?: Buffer): Promise<string> => {
        const tcp = await openSocket(port);
        const socket = connect({
          socket: tcp,
          ca,
          servername: "localhost",
          ALPNProtocols: ["http/1.1"],
          ...refused,
          session,
        });
        socket.on("session", (ticket) => sessions.push(ticket));
        socket.write(
          `POST ${PATH} HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n[{}]`,
        );
        let answer = "";
        socket.on("data", (chunk) => {
          answer += chunk;
        });
        socket.on("error", () => {});
        await new Promise((resolve) => socket.once("close", resolve));
        return answer;
      };
      expect(await visit()).toBe("");
      for (const session of [...sessions]) expect(await visit(session)).toBe("");
    }
    const trusted = connectGreeter(baseUrl, { tls: { ca, ...client } });
    expect((await trusted.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  const boom = (): never => {
    throw new Error("boom");
  };
  it.each<[name: string, tls: TlsOptions]>([
    ["SNICallback throws", { SNICallback: boom }],
    ["SNICallback rejects", { SNICallback: async () => boom() }],
    ["SNICallback says no", { SNICallback: (_, answer) => answer(new Error("boom")) }],
    ["ALPNCallback throws", { ALPNCallback: boom }],
    ["pskCallback throws", { pskCallback: boom, ciphers: "PSK", maxVersion: "TLSv1.2" }],
  ])("a server whose %s refuses the connection, logs the error, and continues", async (name, tls) => {
    const log = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => log.mockRestore());
    const { port } = await startServer({}, { tls: { ...identity, ...tls } });
    const psk = {
      ciphers: "PSK",
      maxVersion: "TLSv1.2",
      checkServerIdentity: () => undefined,
      pskCallback: () => ({ psk: Buffer.alloc(32), identity: "Ada" }),
    } as const;
    const options = name.startsWith("psk") ? psk : { servername: "localhost", ALPNProtocols: ["h2"] };
    for (let i = 0; i < 2; i++) await expect(handshake(port, options)).rejects.toThrow();
    if (!name.endsWith("says no")) expect(log.mock.calls.flat().join(" ")).toContain("Callback failed: Error: boom");
  });

  it("a server may agree on a key with its clients in place of certificates, and refuses others", async () => {
    const psk = Buffer.alloc(32, 1);
    const tls = { pskCallback: (_: unknown, name: string) => (name === "Ada" ? psk : null), ciphers: "PSK" };
    const { port } = await startServer({}, { tls: { ...tls, maxVersion: "TLSv1.2" } });
    const shake = (name: string): ReturnType<typeof handshake> =>
      handshake(port, {
        ciphers: "PSK",
        maxVersion: "TLSv1.2",
        checkServerIdentity: () => undefined,
        pskCallback: () => ({ psk, identity: name }),
      });
    expect((await shake("Ada")).encrypted).toBe(true);
    await expect(shake("Eve")).rejects.toThrow();
  });

  it("a server may select its certificate and protocol by callbacks", async () => {
    const SNICallback: TlsOptions["SNICallback"] = (_, answer) => answer(null, createSecureContext(identity));
    const { port, baseUrl } = await startServer({}, { tls: { SNICallback, ALPNCallback: () => "h2" } });
    const greeter = connectGreeter(baseUrl.replace("127.0.0.1", "localhost"), { tls: { ca } });
    expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect((await handshake(port, { servername: "localhost", ALPNProtocols: ["h2"] })).alpnProtocol).toBe("h2");
  });

  it("a server with spiffeIds refuses clients without one of them, also if it does not verify certificates", async () => {
    const failures: string[] = [];
    const start = (spiffeIds: string[], options: TlsOptions = {}): Promise<RunningServer> =>
      startServer(
        {},
        {
          tls: { ...identity, ca, requestCert: true, spiffeIds, ...options },
          onTlsError: ({ message }) => failures.push(message),
        },
      );
    const call = async ({ baseUrl }: RunningServer, tls: object): Promise<unknown> => {
      const outcomes = [{ protocol: "grpc" }, { protocol: "http-rpc" }] as const;
      const codes = outcomes.map((options) =>
        connectGreeter(baseUrl, { ...options, tls: { ca, ...tls } })
          .greet({})
          .then(
            () => "served",
            ({ code }) => code,
          ),
      );
      return new Set(await Promise.all(codes));
    };
    const [refused, served] = [new Set([Code.Unavailable]), new Set(["served"])];
    const server = await start(["spiffe://example/other", "spiffe://example/shop"]);
    expect(await call(server, named)).toEqual(served);
    expect(failures).toEqual([]);
    expect(await call(server, client)).toEqual(refused);
    expect(new Set(failures)).toEqual(new Set(["tls.spiffeIds does not list the peer: its certificate has no URI"]));
    failures.length = 0;
    expect(await call(await start(["spiffe://example"]), named)).toEqual(refused);
    expect(failures[0]).toContain("its certificate has spiffe://example/shop");
    const lenient = await start(["spiffe://example/shop"], { rejectUnauthorized: false, ca: identity.cert });
    expect(await call(lenient, {})).toEqual(refused);
    expect(await call(lenient, named)).toEqual(refused);
    expect(() => createServer({ tls: { ...identity, spiffeIds: [] } })).toThrow("tls.spiffeIds needs tls.requestCert");
    expect(() => createServer({ tls: { ...identity, requestCert: true, spiffeIds: "a" as never } })).toThrow(
      "tls.spiffeIds must be an array",
    );
  });

  it.each([{ protocol: "grpc" }, { protocol: "http-rpc" }] as const)(
    "a $protocol client with spiffeIds accepts servers by their id in place of their name",
    async (options) => {
      const { baseUrl } = await startServer({}, { tls: service });
      const call = (spiffeIds: string[] | undefined) =>
        connectGreeter(baseUrl, { ...options, tls: { ca, servername: "any.example", spiffeIds } }).greet({});
      expect((await call(["spiffe://example/service"])).greeting).toBe("Hello, !");
      expect((await failureOf(call(["spiffe://example/other"]))).rawMessage).toContain(
        "tls.spiffeIds does not list the peer: its certificate has spiffe://example/service",
      );
      expect((await failureOf(call([]))).code).toBe(Code.Unavailable);
      expect((await failureOf(call(undefined))).rawMessage).toContain("any.example");
      const untrusted = { servername: "any.example", spiffeIds: ["spiffe://example/service"] };
      expect((await failureOf(connectGreeter(baseUrl, { ...options, tls: untrusted }).greet({}))).code).toBe(
        Code.Unavailable,
      );
    },
  );

  it("a certificate with several URIs has no SPIFFE id, and a name with special characters imitates none", () => {
    const ids = ["spiffe://example/shop"];
    expect(spiffeProblem(ids, "DNS:shop.example, URI:spiffe://example/shop")).toBeUndefined();
    for (const names of [
      undefined,
      "URI:spiffe://example/shop, URI:spiffe://example/shop",
      'DNS:"a, URI:spiffe://example/shop"',
      'URI:"spiffe://example/shop, URI:spiffe://example/shop"',
      "URI:spiffe://example/shop/admin",
    ]) {
      expect(spiffeProblem(ids, names)).toBeInstanceOf(Error);
    }
  });

  it("a cleartext client gets an error, and the server keeps working", async () => {
    const { port, baseUrl } = await start();
    for (const protocol of ["grpc", "http-rpc"] as const) {
      const error = await failureOf(connectGreeter(`http://127.0.0.1:${port}`, { protocol }).greet({}));
      expect(error.code).toBe(Code.Unavailable);
    }
    const socket = await openSocket(port);
    socket.resume();
    socket.write("GET / HTTP/1.1\r\n\r\n");
    await new Promise((resolve) => socket.once("close", resolve));
    expect((await connectGreeter(baseUrl, { tls: { ca } }).greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("a client that speaks TLS to a cleartext server gets an error", async () => {
    const { port } = await startServer();
    for (const protocol of ["grpc", "http-rpc"] as const) {
      const error = await failureOf(connectGreeter(`https://127.0.0.1:${port}`, { protocol, tls: { ca } }).greet({}));
      expect(error.code).toBe(Code.Unavailable);
    }
  });

  it("that is incomplete does not delay closing the server, which still lets calls finish", async () => {
    const running = signalled();
    const gate = signalled();
    let started = 0;
    const greet = async ({ name }: { name: string }): Promise<{ greeting: string }> => {
      started++;
      if (started === 2) running.resolve();
      await gate.promise;
      return { greeting: name };
    };
    const { server, port, baseUrl } = await startServer(
      { greet },
      // More time than the test has.
      { tls: identity, limits: { headersTimeoutMs: 3_600_000, messageTimeoutMs: 3_600_000 } },
    );
    const silent = await openSocket(port);
    const calls = (["1.1", "2"] as const).map((httpVersion) =>
      connectGreeter(baseUrl, { protocol: "http-rpc", httpVersion, tls: { ca } }).greet({ name: httpVersion }),
    );
    await running.promise;
    const destroyed = new Promise((resolve) => silent.resume().once("close", resolve));
    const closed = server.close();
    await destroyed;
    gate.resolve();
    expect((await Promise.all(calls)).map(({ greeting }) => greeting)).toEqual(["1.1", "2"]);
    await closed;
  });
});
