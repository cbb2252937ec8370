/**
 * Certificates in files that are replaced while servers and clients run: gRFC A29. `ROTATIONS=1000`, as in `npm run campaign`, sets
 * how often under load.
 */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ConnectionOptions, connect, type SecureVersion, type TLSSocket } from "node:tls";
import { Code } from "triple-es";
import { type ClientTlsOptions, createServer, createTransport, type NodeTransportOptions } from "triple-es/node";
import { beforeEach, describe, expect, it, type MockInstance, onTestFinished, vi } from "vitest";
import { type Certificate, type Certificates, createCertificates, hasOpenssl } from "../../support/certificate.ts";
import { connectGreeter, failureOf, type RunningServer, startServer } from "../../support/server.ts";

const CLIENTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
] as const;
/** Each call gets a connection of its own. */
const UNSHARED = { idleTimeoutMs: 0, maxBackoffMs: 0 } as const;
const ROTATIONS = Number(process.env["ROTATIONS"] ?? 50);
const CALLERS = 2;

/** A folder like a volume of Kubernetes: the files are links into `..data`, which is a link to a folder. */
class Volume {
  readonly certFile: string;
  readonly keyFile: string;
  readonly caFile: string;
  readonly #folder: string;
  #versions = 0;

  constructor(identity: Certificate, ca: string) {
    this.#folder = mkdtempSync(join(tmpdir(), "triple-es-"));
    onTestFinished(() => rmSync(this.#folder, { recursive: true }));
    const link = (name: string): string => {
      symlinkSync(join("..data", name), join(this.#folder, name));
      return join(this.#folder, name);
    };
    this.certFile = link("tls.crt");
    this.keyFile = link("tls.key");
    this.caFile = link("ca.crt");
    this.swap(identity, ca);
  }

  get options() {
    const { certFile, keyFile, caFile } = this;
    return { certFile, keyFile, caFile, reload: true };
  }

  /** Replaces all files at once, as the kubelet does. */
  swap({ cert, key }: Certificate, ca: string): void {
    const old = `..version-${this.#versions++}`;
    const version = `..version-${this.#versions}`;
    mkdirSync(join(this.#folder, version));
    for (const [name, text] of Object.entries({ "tls.crt": cert, "tls.key": key, "ca.crt": ca })) {
      writeFileSync(join(this.#folder, version, name), text);
    }
    symlinkSync(version, join(this.#folder, "..data-next"));
    renameSync(join(this.#folder, "..data-next"), join(this.#folder, "..data"));
    rmSync(join(this.#folder, old), { recursive: true, force: true });
  }
}

describe.skipIf(!hasOpenssl)("files of tls (needs openssl)", () => {
  const [old, renewed] = (hasOpenssl ? [createCertificates(), createCertificates()] : []) as [
    Certificates,
    Certificates,
  ];
  const both = `${old?.ca}${renewed?.ca}`;
  let printed: MockInstance<typeof console.error>;

  beforeEach(() => {
    // Files are compared again after a time, which the tests pass without waiting.
    vi.useFakeTimers({ toFake: ["performance"] });
    printed = vi.spyOn(console, "error").mockImplementation(() => {});
    onTestFinished(() => {
      vi.useRealTimers();
      printed.mockRestore();
    });
  });
  const passTime = (): unknown => vi.advanceTimersByTime(100);

  async function handshake(port: number, options: ConnectionOptions = {}): Promise<TLSSocket> {
    const socket = connect({ port, host: "127.0.0.1", ca: both, ALPNProtocols: ["h2"], ...options });
    onTestFinished(() => void socket.destroy());
    await new Promise((resolve, reject) => {
      socket.once("secureConnect", resolve);
      socket.once("error", reject);
    });
    return socket;
  }

  /** Returns the authority of the certificate that a server presents to a new client. */
  async function authorityAt({ port }: RunningServer, options?: ConnectionOptions): Promise<string> {
    const { raw } = (await handshake(port, options)).getPeerCertificate(true).issuerCertificate;
    return raw.equals(derOf(old.ca)) ? "old" : raw.equals(derOf(renewed.ca)) ? "renewed" : "unknown";
  }

  const derOf = (pem: string): Buffer => Buffer.from(pem.replace(/-----[A-Z ]+-----/g, ""), "base64");
  const problems = (): string[] => printed.mock.calls.map(([text, reason]) => `${text} ${(reason as Error).message}`);

  it.each([{}, { servername: "localhost" }])(
    "a server presents a renewed certificate to new clients: %j",
    async (sni) => {
      const volume = new Volume(old.server, both);
      const server = await startServer({}, { tls: volume.options });
      const first = connectGreeter(server.baseUrl, { tls: { ca: old.ca } });
      expect((await first.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
      expect(await authorityAt(server, sni)).toBe("old");
      volume.swap(renewed.server, both);
      passTime();
      expect(await authorityAt(server, sni)).toBe("renewed");
      // The open connection keeps its certificate.
      expect((await first.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
      expect(problems()).toEqual([]);
    },
  );

  it("compares the files of a flood of connections once", async () => {
    const volume = new Volume(old.server, both);
    const server = await startServer({}, { tls: volume.options });
    volume.swap(renewed.server, both);
    expect(await authorityAt(server)).toBe("old");
    passTime();
    expect(await authorityAt(server)).toBe("renewed");
  });

  it("are read once without the option reload", async () => {
    const volume = new Volume(old.server, both);
    const server = await startServer({}, { tls: { ...volume.options, reload: false } });
    volume.swap(renewed.server, both);
    passTime();
    expect(await authorityAt(server)).toBe("old");
  });

  it.each<[problem: string, spoil: (volume: Volume) => void, message: RegExp]>([
    [
      "a key of another certificate",
      ({ keyFile }) => writeFileSync(keyFile, renewed.server.key),
      /tls\.keyFile .+tls\.key does not fit tls\.certFile .+tls\.crt: .*key values mismatch/,
    ],
    ["a certificate of another key", ({ certFile }) => writeFileSync(certFile, renewed.server.cert), /does not fit/],
    [
      "half a key",
      ({ keyFile }) => writeFileSync(keyFile, old.server.key.slice(0, 90)),
      /tls\.keyFile .+ does not fit/,
    ],
    [
      "half a certificate",
      ({ certFile }) => writeFileSync(certFile, old.server.cert.slice(0, 200)),
      /tls\.certFile .+tls\.crt has an invalid certificate/,
    ],
    [
      "half an authority",
      ({ caFile }) => writeFileSync(caFile, both.slice(0, -200)),
      /tls\.caFile .+ca\.crt has an invalid certificate/,
    ],
    ["an empty authority", ({ caFile }) => writeFileSync(caFile, ""), /tls\.caFile .+ca\.crt has no certificate/],
    ["no key", ({ keyFile }) => rmSync(keyFile), /ENOENT.+tls\.key/],
  ])("that have %s leave the previous ones in use, which is printed once", async (_, spoil, message) => {
    const volume = new Volume(old.server, old.ca);
    const server = await startServer({}, { tls: { ...volume.options, requestCert: true } });
    const client = new Volume(old.client, old.ca);
    const greeter = connectGreeter(server.baseUrl, { ...UNSHARED, tls: client.options });
    spoil(volume);
    spoil(client);
    for (let i = 0; i < 3; i++) {
      passTime();
      expect((await greeter.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    }
    // One line of the server, and one of the client.
    expect(problems()).toEqual([expect.stringMatching(message), expect.stringMatching(message)]);
    expect(problems()[0]).toContain("the previous files stay in use");
    expect(problems().join("")).not.toContain("BEGIN");
  });

  it("are valid again after a pair that was written file by file, and a second problem is printed too", async () => {
    const volume = new Volume(old.server, both);
    const server = await startServer({}, { tls: volume.options });
    for (const [before, { cert, key }] of [
      ["old", renewed.server],
      ["renewed", old.server],
    ] as const) {
      writeFileSync(volume.certFile, cert);
      passTime();
      expect(await authorityAt(server)).toBe(before);
      writeFileSync(volume.keyFile, key);
      passTime();
      expect(await authorityAt(server)).toBe(before === "old" ? "renewed" : "old");
    }
    expect(problems()).toHaveLength(2);
  });

  it.each(CLIENTS)(
    "a client presents a renewed certificate, and trusts renewed authorities: $protocol over HTTP/$httpVersion",
    async (options) => {
      const seen: (string | undefined)[] = [];
      const identity = { ca: both, requestCert: true };
      const greet = (
        _: unknown,
        { peer }: { peer: { tls: { certificate: { raw: Uint8Array } | undefined } | undefined } },
      ) => {
        const raw = Buffer.from(peer.tls?.certificate?.raw ?? []);
        seen.push(
          raw.equals(derOf(old.client.cert)) ? "old" : raw.equals(derOf(renewed.client.cert)) ? "renewed" : "?",
        );
        return { greeting: "" };
      };
      const before = await startServer({ greet }, { tls: { ...identity, ...old.server } });
      const after = await startServer({ greet }, { tls: { ...identity, ...renewed.server } });
      const volume = new Volume(old.client, old.ca);
      const call = async ({ baseUrl }: RunningServer): Promise<unknown> => {
        const greeter = connectGreeter(baseUrl, { ...options, ...UNSHARED, tls });
        return await greeter.greet({}).then(
          () => "served",
          ({ code }) => code,
        );
      };
      const tls: ClientTlsOptions = volume.options;
      expect([await call(before), await call(after)]).toEqual(["served", Code.Unavailable]);
      volume.swap(renewed.client, renewed.ca);
      passTime();
      expect([await call(before), await call(after)]).toEqual([Code.Unavailable, "served"]);
      expect(seen).toEqual(["old", "renewed"]);
    },
  );

  it.each<SecureVersion>(["TLSv1.2", "TLSv1.3"])(
    "a server resumes no session of an authority that it has dropped: %s",
    async (version) => {
      const volume = new Volume(old.server, both);
      const { port } = await startServer({}, { tls: { ...volume.options, requestCert: true } });
      const versions = { minVersion: version, maxVersion: version };
      /** Says whether a client with this session is served, and whether the session was resumed. */
      const visit = async (
        session?: Buffer,
      ): Promise<{ isServed: boolean; isReused: boolean; session: Buffer | undefined }> => {
        const socket = connect({
          port,
          host: "127.0.0.1",
          ca: both,
          ALPNProtocols: ["http/1.1"],
          ...old.client,
          ...versions,
          session,
        });
        let [answer, ticket] = ["", undefined as Buffer | undefined];
        socket.on("session", (given) => {
          ticket = given;
        });
        socket.on("data", (chunk) => {
          answer += chunk;
        });
        socket.on("error", () => {});
        socket.write(
          "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\n[{}]",
        );
        let isReused = false;
        socket.on("secureConnect", () => {
          isReused = socket.isSessionReused();
        });
        await new Promise((resolve) => socket.once("close", resolve));
        return { isServed: answer.startsWith("HTTP/1.1 200"), isReused, session: ticket };
      };
      const { session } = await visit();
      expect(await visit(session)).toMatchObject({ isServed: true, isReused: true });
      volume.swap(renewed.server, renewed.ca);
      passTime();
      expect(await visit(session)).toMatchObject({ isServed: false, isReused: false });
    },
  );

  it(`are replaced ${ROTATIONS} times under load, on both sides, and no handshake and no call fails`, async () => {
    const volume = new Volume(old.server, both);
    const client = new Volume(old.client, both);
    const failures: Error[] = [];
    const { baseUrl } = await startServer(
      {},
      { tls: { ...volume.options, requestCert: true }, onTlsError: (error) => failures.push(error) },
    );
    let made = 0;
    let rotating = true;
    const callers = CLIENTS.flatMap((options) =>
      [UNSHARED, {}].flatMap((connections) =>
        Array.from({ length: CALLERS }, async () => {
          const settings: Omit<NodeTransportOptions, "baseUrl"> = { ...options, ...connections, tls: client.options };
          const greeter = connectGreeter(baseUrl, settings);
          while (rotating) {
            const name = `call ${made++}`;
            expect((await greeter.greet({ name })).greeting).toBe(`Hello, ${name}!`);
          }
        }),
      ),
    );
    for (let i = 0; i < ROTATIONS; i++) {
      const [served, presented] = i % 2 === 0 ? [renewed, old] : [old, renewed];
      volume.swap(served.server, both);
      client.swap(presented.client, both);
      passTime();
      const target = made + callers.length;
      while (made < target) await new Promise((resolve) => setImmediate(resolve));
    }
    rotating = false;
    await Promise.all(callers);
    expect(failures).toEqual([]);
    expect(problems()).toEqual([]);
  });

  it("that are missing, invalid or incomplete are refused when a server or a transport is created", () => {
    const { options } = new Volume(old.server, both);
    const create = [
      (tls: ClientTlsOptions) => () => createServer({ tls: tls as object }),
      (tls: ClientTlsOptions) => () => createTransport({ baseUrl: "https://127.0.0.1:1", tls }),
    ];
    const { certFile, keyFile, caFile } = options;
    for (const open of create) {
      expect(open({ ...options, certFile: "/nowhere/tls.crt" })).toThrow(
        /tls\.certFile cannot be read: ENOENT.+\/nowhere\/tls\.crt/,
      );
      expect(open({ ...options, keyFile: certFile })).toThrow(/tls\.keyFile .+ does not fit/);
      expect(open({ ...options, caFile: keyFile })).toThrow(/tls\.caFile .+ has no certificate/);
      expect(open({ certFile, keyFile: Buffer.from(keyFile) as never })).toThrow(
        "tls.keyFile must be the path of a PEM",
      );
      expect(open({ certFile })).toThrow(new TypeError("tls.certFile needs tls.keyFile"));
      expect(open({ keyFile })).toThrow(new TypeError("tls.keyFile needs tls.certFile"));
      expect(open({ ...options, ...old.server })).toThrow(
        new TypeError("tls.certFile and tls.cert exclude each other"),
      );
      expect(open({ ...options, ca: both })).toThrow(new TypeError("tls.caFile and tls.ca exclude each other"));
      expect(open({ ...old.server, ca: both, reload: true })).toThrow(
        new TypeError("tls.reload needs tls.certFile or tls.caFile"),
      );
      expect(open({ certFile, keyFile, ca: both })).not.toThrow();
      expect(open({ ...old.server, caFile, reload: true })).not.toThrow();
    }
    expect(create[0]?.({ caFile })).toThrow("tls needs key and cert, or pfx, or SNICallback");
  });

  it("may have a key and the parameters of its curve beside the certificates", () => {
    const volume = new Volume(old.server, both);
    const { cert, key } = old.server;
    // The name of the curve P-256 in DER.
    const parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    volume.swap({ cert: parameters + key + cert, key: parameters + key }, both + parameters);
    expect(() => createServer({ tls: volume.options })).not.toThrow();
  });

  it("a transport without the new authority names the reason", async () => {
    const { baseUrl } = await startServer({}, { tls: renewed.server });
    const volume = new Volume(old.client, old.ca);
    const { rawMessage } = await failureOf(connectGreeter(baseUrl, { tls: volume.options }).greet({}));
    expect(rawMessage).toContain("set tls.ca or tls.caFile to the authority of the server's certificate");
  });
});
