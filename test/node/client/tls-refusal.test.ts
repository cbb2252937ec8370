/**
 * Errors of a client for failed TLS handshakes: the alert of the server, and the right scheme.
 */
import type { Socket } from "node:net";
import { createServer as createTlsServer, type SecureVersion } from "node:tls";
import { Code } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { type Certificates, hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { connectGreeter, failureOf, startPeer, startServer } from "../../support/server.ts";

const VERSIONS: SecureVersion[] = ["TLSv1.2", "TLSv1.3"];
const CLIENTS = [
  { protocol: "grpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "2" },
  { protocol: "http-rpc", httpVersion: "1.1" },
] as const;
const ROWS = VERSIONS.flatMap((version) => CLIENTS.map((options) => ({ version, ...options })));

describe.skipIf(!hasOpenssl)("a client whose TLS is refused (needs openssl)", () => {
  const certificates = (hasOpenssl ? sharedCertificates() : undefined) as Certificates;
  const { ca, server: identity, client, stranger } = certificates ?? {};
  const startMutual = (version: SecureVersion) =>
    startServer(
      {},
      {
        tls: { ...identity, ca, requestCert: true, rejectUnauthorized: true, minVersion: version, maxVersion: version },
      },
    );

  it.each(ROWS)(
    "names the alert for a missing certificate: $protocol over HTTP/$httpVersion, $version",
    async (row) => {
      const { port, baseUrl } = await startMutual(row.version);
      const { version, ...options } = row;
      // Several times, because the alert and the end of the connection arrive together.
      for (let i = 0; i < 10; i++) {
        const { code, rawMessage } = await failureOf(
          connectGreeter(baseUrl, { ...options, tls: { ca }, maxBackoffMs: 0 }).greet({}),
        );
        // The name of the alert in OpenSSL 3.0 and in later versions.
        const alert =
          version === "TLSv1.2"
            ? "(sslv3|ssl/tls) alert handshake failure"
            : "tlsv13 alert certificate required \\(set tls\\.cert and tls\\.key, or their files\\)";
        expect(code).toBe(Code.Unavailable);
        expect(rawMessage).toMatch(new RegExp(`^connection to 127\\.0\\.0\\.1:${port} failed: ${alert}$`));
      }
      const trusted = connectGreeter(baseUrl, { ...options, tls: { ca, ...client } });
      expect((await trusted.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    },
  );

  it.each(ROWS)(
    "mentions that its certificate may have been refused if Node sends no alert: $protocol over HTTP/$httpVersion, $version",
    async (row) => {
      const { port, baseUrl } = await startMutual(row.version);
      const { version: _, ...options } = row;
      for (let i = 0; i < 5; i++) {
        const { rawMessage } = await failureOf(
          connectGreeter(baseUrl, { ...options, tls: { ca, ...stranger } }).greet({}),
        );
        expect(rawMessage).toBe(`connection to 127.0.0.1:${port} failed: ${REFUSED}`);
      }
    },
  );

  it.each(ROWS)("suggests https:// for a port with TLS: $protocol over HTTP/$httpVersion, $version", async (row) => {
    const { version, ...options } = row;
    const { port } = await startServer({}, { tls: { ...identity, minVersion: version, maxVersion: version } });
    const { code, rawMessage } = await failureOf(connectGreeter(`http://127.0.0.1:${port}`, options).greet({}));
    expect(code).toBe(Code.Unavailable);
    expect(rawMessage).toBe(`connection to 127.0.0.1:${port} failed: ${NO_WORD}`);
  });

  it.each(CLIENTS)(
    "suggests https:// for any other server with TLS: $protocol over HTTP/$httpVersion",
    async (options) => {
      const server = createTlsServer({ ...identity, ALPNProtocols: ["h2", "http/1.1"] });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      onTestFinished(() => void server.close());
      const { port } = server.address() as { port: number };
      const { rawMessage } = await failureOf(connectGreeter(`http://127.0.0.1:${port}`, options).greet({}));
      expect(rawMessage).toBe(`connection to 127.0.0.1:${port} failed: ${NO_WORD}`);
    },
  );
});

const REFUSED =
  "the server closed the connection before it sent anything, as one may that refuses the client's certificate";
const NO_WORD = "the server closed the connection before it sent anything; a server of TLS may do so (try https://)";

describe("a client without TLS", () => {
  it("suggests https:// if the first bytes of the server are a TLS alert, over HTTP/1.1", async () => {
    const alert = Buffer.from([0x15, 3, 1, 0, 2, 2, 70]);
    const port = await startPeer((socket) => socket.once("data", () => socket.end(alert)));
    const { rawMessage } = await failureOf(
      connectGreeter(`http://127.0.0.1:${port}`, { protocol: "http-rpc", httpVersion: "1.1" }).greet({}),
    );
    expect(rawMessage).toBe(`connection to 127.0.0.1:${port} failed: the server speaks TLS (try https://)`);
  });

  it.each(CLIENTS)(
    "does not mention TLS if the server has responded before: $protocol over HTTP/$httpVersion",
    async (options) => {
      const { server, port, baseUrl } = await startServer();
      const client = connectGreeter(baseUrl, options);
      await client.greet({});
      await server.close({ graceMs: 0 });
      let connections = 0;
      const close = (socket: Socket): void => {
        connections++;
        socket.once("data", () => socket.destroy());
      };
      await startPeer(close, undefined, port);
      // The first call may use the old connection, if it is kept alive.
      while (connections === 0) expect((await failureOf(client.greet({}))).rawMessage).not.toContain("https://");
      expect(connections).toBeGreaterThan(0);
    },
  );
});
