/**
 * Errors of a client for connections that cannot be established.
 */
import { createServer as createHttp1Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo, Server } from "node:net";
import { createServer as createTlsServer } from "node:tls";
import { Code } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectionError } from "../../../runtime/src/connection/error.ts";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import { connectGreeter, failureOf, startPeer, startServer } from "../../support/server.ts";

const HTTP1 = { protocol: "http-rpc", httpVersion: "1.1" } as const;
const HTTP2 = { protocol: "grpc", httpVersion: "2" } as const;

async function listen(server: Server | Http2Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function expectFailure(baseUrl: string, options: typeof HTTP1 | typeof HTTP2, why: string): Promise<void> {
  const { code, rawMessage } = await failureOf(connectGreeter(baseUrl, options).greet({}));
  expect([code, rawMessage]).toEqual([Code.Unavailable, `connection to ${new URL(baseUrl).host} failed: ${why}`]);
}

describe("a client reports", () => {
  it.each([HTTP1, HTTP2])("a server without TLS, over HTTP/$httpVersion", async (options) => {
    const { port } = await startServer();
    await expectFailure(`https://127.0.0.1:${port}`, options, "the server does not speak TLS (try http://)");
    const silent = await listen(createHttp2Server());
    await expectFailure(`https://${silent}`, options, "the server does not speak TLS (try http://)");
  });

  it("a server that supports only HTTP/1.1", async () => {
    const address = await listen(createHttp1Server((_, response) => response.end()));
    await expectFailure(`http://${address}`, HTTP2, "the server does not speak HTTP/2");
  });

  it.skipIf(!hasOpenssl)("a server that selects HTTP/1.1 by ALPN (needs openssl)", async () => {
    const { server: identity, ca } = sharedCertificates();
    const { port } = await startServer({}, { tls: { ...identity, ALPNProtocols: ["http/1.1"] } });
    const client = connectGreeter(`https://127.0.0.1:${port}`, { ...HTTP2, tls: { ca } });
    const { rawMessage } = await failureOf(client.greet({}));
    expect(rawMessage).toBe(`connection to 127.0.0.1:${port} failed: the server does not speak HTTP/2`);
  });

  it.skipIf(!hasOpenssl)("a server that closes connections without ALPN, as grpc-go does (needs openssl)", async () => {
    const { server: identity, ca } = sharedCertificates();
    const address = await listen(createTlsServer(identity, (socket) => socket.destroy()));
    const client = connectGreeter(`https://${address}`, { ...HTTP2, tls: { ca, ALPNProtocols: [] } });
    const { rawMessage } = await failureOf(client.greet({}));
    const why = "the server closed the connection before it sent anything, as one may that requires ALPN";
    expect(rawMessage).toBe(`connection to ${address} failed: ${why}`);
  });

  it.each([
    [HTTP1, "the response is not HTTP/1.1"],
    [HTTP2, "the server does not speak HTTP/2"],
  ])("a server of another protocol, %j", async (options, cause) => {
    const port = await startPeer((socket) => socket.write("SSH-2.0-OpenSSH_9.2\r\n"));
    await expectFailure(`http://127.0.0.1:${port}`, options, cause);
  });
});

const WRONG_VERSION =
  "806C07FA657F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/a.c:350:\n";
const BAD_CERTIFICATE =
  "806C07FA657F0000:error:0A000412:SSL routines:ssl3_read_bytes:sslv3 alert bad certificate:../deps/a.c:1601:SSL alert number 42\n";

describe("the error of a connection", () => {
  it.each([
    ["connect ECONNREFUSED 127.0.0.1:1", "connect ECONNREFUSED 127.0.0.1:1"],
    [WRONG_VERSION, "the server does not speak TLS (try http://)"],
    [`write EPROTO ${WRONG_VERSION}`, "the server does not speak TLS (try http://)"],
    [BAD_CERTIFICATE, "sslv3 alert bad certificate"],
    [
      BAD_CERTIFICATE.replace("sslv3 alert bad certificate", "tlsv13 alert certificate required"),
      "tlsv13 alert certificate required (set tls.cert and tls.key, or their files)",
    ],
    [
      "unable to verify the first certificate",
      "unable to verify the first certificate (set tls.ca or tls.caFile to the authority of the server's certificate)",
    ],
    [
      "self-signed certificate in certificate chain",
      "self-signed certificate in certificate chain (set tls.ca or tls.caFile to the authority of the server's certificate)",
    ],
    [
      "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list: ",
      "Hostname/IP does not match certificate's altnames: IP: 127.0.0.1 is not in the cert's list (tls.servername sets the expected name)",
    ],
    ["two lines\n\n", "two lines"],
    ["", "ECODE"],
    ["\n", "ECODE"],
  ])("%j results in %j", (message, said) => {
    const cause = Object.assign(new Error(message), { code: "ECODE" });
    const error = connectionError(cause, "host:1");
    expect([error.code, error.rawMessage, error.cause]).toEqual([
      Code.Unavailable,
      `connection to host:1 failed: ${said}`,
      cause,
    ]);
  });
});
