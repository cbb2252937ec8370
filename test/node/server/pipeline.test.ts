/** Pipelines of HTTP/1.1 (RFC 9112, section 9.3.2), in cleartext and over TLS. */
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { hasOpenssl, sharedCertificates } from "../../support/certificate.ts";
import type { Http1Connection } from "../../support/connection.ts";
import { openSocket, secure, startServer } from "../../support/server.ts";
import { openHttp1, tlsOf, WAYS } from "../../support/ways.ts";

const COUNT = 200;

function post(name: string): string {
  const body = JSON.stringify({ name });
  const head = "POST /greet.v1.GreetService/Greet HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";
  return `${head}content-length: ${body.length}\r\n\r\n${body}`;
}

describe.each([
  ["cleartext", false],
  ["TLS", true],
])("over %s", (_, overTls) => {
  const names = Array.from({ length: COUNT }, (_, index) => `name ${index}`);

  it.skipIf(overTls && !hasOpenssl).each<[how: string, send: (socket: Socket, requests: string[]) => unknown]>([
    ["in one write", (socket, requests) => socket.write(requests.join(""))],
    ["in a write each", (socket, requests) => requests.map((one) => socket.write(one))],
    ["that ends its side afterwards", (socket, requests) => socket.end(requests.join(""))],
  ])("200 requests %s are answered in order, one handler after the other", async (_, send) => {
    let running = 0;
    let most = 0;
    const greet = async ({ name = "" }): Promise<{ greeting: string }> => {
      most = Math.max(most, ++running);
      await undefined;
      running--;
      // Long enough for Node to pause the parser.
      return { greeting: name.padEnd(500) };
    };
    const { port } = await startServer({ greet }, { tls: overTls ? sharedCertificates().server : undefined });
    const tcp = await openSocket(port);
    const socket = overTls ? await secure(tcp, { ALPNProtocols: ["http/1.1"], rejectUnauthorized: false }) : tcp;
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    send(socket, names.map(post));
    await expect.poll(() => text.match(/"greeting"/g)?.length, { timeout: 10_000 }).toBe(COUNT);
    expect(Array.from(text.matchAll(/"greeting":"(.*?) *"/g), ([, name]) => name)).toEqual(names);
    expect(most).toBe(1);
  });
});

// A proxy may take the connection for a tunnel after such a request. The field has no meaning here.
describe.each(WAYS.filter(({ version }) => version === "1.1"))("a request with upgrade over $name", (way) => {
  const upgrade = (name: string): string =>
    post(name).replace("host: a", "host: a\r\nconnection: upgrade\r\nupgrade: h2c");
  const chunked = (request: string): string => {
    const [head = "", body = ""] = request
      .replace(/content-length: \d+/, "transfer-encoding: chunked")
      .split("\r\n\r\n");
    return `${head}\r\n\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  };

  async function open(): Promise<Http1Connection> {
    const { port } = await startServer({ greet: ({ name = "" }) => ({ greeting: name }) }, { tls: tlsOf(way) });
    return openHttp1(way, port);
  }

  /** Reads one response, after which the connection stays open. Returns the name in it. */
  async function next(connection: Http1Connection): Promise<string> {
    const { body, headers } = await connection.answer();
    expect(headers["connection"]).toBeUndefined();
    return JSON.parse(body.toString()).greeting;
  }

  it.each<[follows: string, bytes: string, names: string[]]>([
    ["nothing", upgrade("b"), ["b"]],
    ["an empty line", `${upgrade("b")}\r\n`, ["b"]],
    ["another request", upgrade("b") + post("c"), ["b", "c"]],
    ["the start of another request", upgrade("b") + post("late").slice(0, -20), ["b"]],
    ["another request after requests before it", post("a") + upgrade("b") + post("c"), ["a", "b", "c"]],
    ["another request after one with a chunked body", chunked(post("a")) + upgrade("b") + post("c"), ["a", "b", "c"]],
    ["another request after its chunked body", chunked(upgrade("b")) + post("c"), ["b", "c"]],
  ])("is answered like others if it is followed by %s", async (_, bytes, names) => {
    const connection = await open();
    connection.write(bytes);
    for (const name of names) expect(await next(connection)).toBe(name);
    connection.write(bytes.endsWith("}") || bytes.endsWith("\n") ? post("late") : post("late").slice(-20));
    expect(await next(connection)).toBe("late");
  });

  it("is answered like others if its body arrives later, with another request", async () => {
    const connection = await open();
    const [head = "", body = ""] = upgrade("b").split("\r\n\r\n");
    connection.write(`${head}\r\nexpect: 100-continue\r\n\r\n`);
    expect((await connection.interim()).status).toBe(100);
    connection.write(body + post("c"));
    expect(await next(connection)).toBe("b");
    expect(await next(connection)).toBe("c");
  });
});
