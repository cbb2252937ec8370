/**
 * Servers that violate the protocol or use another one: clients get an error that describes it, and other calls are not
 * affected.
 */
import { createServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo, Socket } from "node:net";
import { Code, Status } from "triple-es";
import { describe, expect, it, onTestFinished } from "vitest";
import { envelope } from "../../support/connection.ts";
import { pause } from "../../support/pause.ts";
import { connectGreeter, failureOf, greetings, startPeer, startServer } from "../../support/server.ts";

/** A server that responds to HTTP/1.1 requests with the given bytes. */
async function startHttp1(answer: string, ending: "end" | "reset" | "stay" = "stay"): Promise<string> {
  const port = await startPeer((socket) => {
    socket.on("data", () => {
      socket.write(answer, () => {
        if (ending === "end") socket.end();
        if (ending === "reset") setTimeout(() => socket.resetAndDestroy(), 10);
      });
    });
  });
  return `http://127.0.0.1:${port}`;
}

/** A server whose handling of HTTP/2 streams the test defines. */
async function startHttp2(answer: (stream: ServerHttp2Stream) => void): Promise<string> {
  const server = createServer();
  server.on("session", (session) => {
    session.on("error", () => {});
    onTestFinished(() => session.destroy());
  });
  server.on("stream", (stream) => {
    stream.on("error", () => {});
    answer(stream);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Returns a frame of HTTP/2. */
function frame(type: number, flags: number, stream: number, payload: Uint8Array = new Uint8Array()): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.byteLength, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** HEADERS of the first stream: status 200 from the static table, and a content type. */
const GRPC_HEADERS = frame(1, 4, 1, Buffer.from("\x88\x0f\x10\x10application/grpc", "latin1"));

/**
 * A server that responds to the first request on a connection with the given frames, which node:http2 cannot send: it ends
 * streams before it resets them.
 */
async function startFrames(...steps: (Buffer | "close")[]): Promise<string> {
  const port = await startPeer((socket) => {
    socket.write(frame(4, 0, 0));
    socket.once("data", async () => {
      // The client's preface is followed by its settings and its request.
      for (const step of steps) {
        await pause(20);
        if (step === "close") socket.destroy();
        else socket.write(step);
      }
    });
  });
  return `http://127.0.0.1:${port}`;
}

function respond(
  stream: ServerHttp2Stream,
  { headers = {}, body = envelope(""), trailers = { "grpc-status": "0" } }: Record<string, object>,
): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc", ...headers }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers as Record<string, string>));
  stream.end(body);
}

describe("a client of sub-protocol A over HTTP/1.1", () => {
  const greet = async (baseUrl: string) =>
    failureOf(connectGreeter(baseUrl, { protocol: "http-rpc", codec: "json" }).greet({}));
  const page = "<html>Bad Gateway</html>";

  it.each([
    { server: "speaks something else", bytes: "SSH-2.0-server\r\n" },
    { server: "closes without an answer", bytes: "", ending: "end" },
    { server: "resets the connection without an answer", bytes: "", ending: "reset" },
    { server: "closes in the middle of the headers", bytes: "HTTP/1.1 200 OK\r\ncontent-ty", ending: "end" },
    {
      server: "closes in the middle of the body",
      bytes: 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"gree',
      ending: "end",
    },
    {
      server: "resets in the middle of the body",
      bytes: 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"gree',
      ending: "reset",
    },
    {
      server: "resets in the middle of the body of an error",
      bytes: 'HTTP/1.1 404 Not Found\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"stat',
      ending: "reset",
    },
  ] as const)(
    "fails as unavailable with a server that $server",
    async ({ bytes, ending }: { bytes: string; ending?: "end" | "reset" }) => {
      const error = await greet(await startHttp1(bytes, ending));
      expect([error.code, error.status]).toEqual([Code.Unavailable, Status.ChannelInactive]);
    },
  );

  it("reports headers over the limit, and accepts as many as our server may send", async () => {
    const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n";
    const error = await greet(await startHttp1(`${head}x-long: ${"x".repeat(65 * 1024)}\r\n\r\n{}`));
    expect(error).toMatchObject({
      code: Code.ResourceExhausted,
      status: Status.BadResponse,
      cause: expect.objectContaining({ status: 431 }),
      rawMessage: expect.stringMatching(
        /^the headers of the response of .* are larger than the limit of 65536 bytes \(option headerLimits\)$/,
      ),
    });
    const { baseUrl } = await startServer({
      greet: (_, { responseHeaders }) => {
        responseHeaders.set("x-long", "x".repeat(16 * 1024 - 200));
        return { greeting: "long" };
      },
    });
    const client = connectGreeter(baseUrl, { protocol: "http-rpc" });
    expect((await client.greet({})).greeting).toBe("long");
  });

  it.each([
    ["an invalid header", "HTTP/1.1 200 OK\r\nbad header\r\n\r\n"],
    ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}"],
    ["an invalid status", "HTTP/1.1 ABC OK\r\n\r\n"],
    [
      "an invalid chunk",
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nZZ\r\n",
    ],
  ])("reports a response with %s as malformed", async (_, bytes) => {
    expect(await greet(await startHttp1(bytes))).toMatchObject({
      code: Code.Internal,
      status: Status.BadResponse,
      rawMessage: expect.stringContaining("is malformed: "),
    });
  });

  it.each([
    ["502 Bad Gateway", Code.Unavailable],
    ["403 Forbidden", Code.PermissionDenied],
    ["404 Not Found", Code.Unimplemented],
    ["302 Found", Code.Unknown],
  ])("infers the code from HTTP status %s with a page in HTML", async (status, code) => {
    const baseUrl = await startHttp1(
      `HTTP/1.1 ${status}\r\ncontent-type: text/html\r\nlocation: /\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
    );
    const error = await greet(baseUrl);
    expect([error.code, error.rawMessage]).toEqual([
      code,
      `/greet.v1.GreetService/Greet answered with HTTP status ${status.slice(0, 3)}`,
    ]);
  });

  it("does not accept an HTML page with status 200 as a response", async () => {
    const baseUrl = await startHttp1(
      `HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: ${page.length}\r\n\r\n${page}`,
    );
    const error = await greet(baseUrl);
    expect([error.code, error.status]).toEqual([Code.Internal, Status.BadResponse]);
    expect(error.rawMessage).toContain("/greet.v1.GreetService/Greet answered with text/html, not application/json");
  });

  it("does not accept malformed JSON as a response", async () => {
    const error = await greet(
      await startHttp1("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n{"),
    );
    expect([error.code, error.status]).toEqual([Code.Internal, Status.BadResponse]);
  });
});

/** A server of HTTP/1.1 that calls a function for the first bytes of each request, with the number of its connection. */
async function startRaw(onRequest: (socket: Socket, connection: number) => void) {
  let connections = 0;
  let requests = 0;
  const port = await startPeer((socket) => {
    const connection = connections++;
    socket.on("data", (bytes) => {
      if (!bytes.toString("latin1").startsWith("POST ")) return;
      requests++;
      onRequest(socket, connection);
    });
  });
  const client = connectGreeter(`http://127.0.0.1:${port}`, {
    protocol: "http-rpc",
    codec: "json",
    retry: { maxAttempts: 4, initialBackoffMs: 1 },
  });
  return { client, requests: () => requests, connections: () => connections };
}

const JSON_HEAD = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
const HELLO = `${JSON_HEAD}content-length: 20\r\n\r\n{"greeting":"Hello"}`;

/** Writes a text again and again, until the socket is destroyed. */
function flood(socket: Socket, text: string): void {
  socket.on("error", () => {});
  const write = (): void => {
    if (!socket.destroyed) socket.write(text, write);
  };
  write();
}

describe("a client over HTTP/1.1 with a hostile server", () => {
  it.each([
    ["an endless head", "HTTP/1.1 200 OK\r\n", `x: ${"y".repeat(1000)}\r\n`, Code.ResourceExhausted],
    ["an endless line", "HTTP/1.1 200 OK\r\nx: ", "y".repeat(1000), Code.ResourceExhausted],
    ["endless interim responses", "", "HTTP/1.1 103 Early Hints\r\n\r\n", Code.Internal],
    [
      "endless trailers",
      `${JSON_HEAD}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n`,
      `x: ${"y".repeat(100)}\r\n`,
      Code.Internal,
    ],
    [
      "endless extensions of chunks",
      `${JSON_HEAD}transfer-encoding: chunked\r\n\r\n`,
      `1;${"a".repeat(200)}\r\n \r\n`,
      Code.Internal,
    ],
  ])("ends the connection on %s", async (_, first, more, code) => {
    const { client } = await startRaw((socket) => {
      socket.write(first);
      flood(socket, more);
    });
    expect((await failureOf(client.greet({}))).code).toBe(code);
  });

  it("keeps the deadline of a call whose response arrives slowly", async () => {
    const { client } = await startRaw((socket) => {
      let at = 0;
      const timer = setInterval(() => socket.write(HELLO.charAt(at++ % 20)), 20);
      socket.on("error", () => {}).on("close", () => clearInterval(timer));
    });
    expect((await failureOf(client.greet({}, { timeoutMs: 200 }))).code).toBe(Code.DeadlineExceeded);
  });

  it("does not send a request again that the server may have processed", async () => {
    // The server ends the connection, that has answered a request, while the next one is written.
    const { client, requests } = await startRaw((socket, connection) => {
      if (connection > 0) socket.write(HELLO);
      else if (requests() === 1) socket.write(HELLO);
      else socket.resetAndDestroy();
    });
    expect(await client.greet({})).toMatchObject({ greeting: "Hello" });
    const error = await failureOf(client.greet({}));
    expect([error.code, requests()]).toEqual([Code.Unavailable, 2]);
  });

  it("makes the next call on another connection when the server ends each one after its response", async () => {
    const { client, requests, connections } = await startRaw((socket) => socket.end(HELLO));
    for (let call = 1; call <= 5; call++) {
      expect(await client.greet({})).toMatchObject({ greeting: "Hello" });
      await pause(20);
    }
    expect([requests(), connections()]).toEqual([5, 5]);
  });

  it("takes a response before the end of its upload, and uses the connection no more", async () => {
    const { client, connections } = await startRaw((socket, connection) => {
      if (connection === 0) socket.pause();
      socket.write(HELLO);
    });
    const large = { name: "x".repeat(16 * 1024 * 1024) };
    expect(await client.greet(large, { timeoutMs: 10_000 })).toMatchObject({ greeting: "Hello" });
    expect(await client.greet({})).toMatchObject({ greeting: "Hello" });
    expect(connections()).toBe(2);
  });
});

describe("a client of sub-protocol B", () => {
  const greet = async (answer: (stream: ServerHttp2Stream) => void) =>
    failureOf(connectGreeter(await startHttp2(answer)).greet({}));

  it.each([
    { server: "speaks HTTP/1.1", bytes: "HTTP/1.1 400 Bad Request\r\n\r\n" },
    { server: "speaks something else", bytes: "SSH-2.0-server\r\n" },
  ])("fails as unavailable with a server that $server", async ({ bytes }) => {
    const port = await startPeer((socket) => socket.write(bytes));
    expect((await failureOf(connectGreeter(`http://127.0.0.1:${port}`).greet({}))).code).toBe(Code.Unavailable);
  });

  // Dubbo for Java sends trailers-only responses with the HTTP statuses of errors.
  it.each([
    [500, 2, Code.Unknown],
    [404, 12, Code.Unimplemented],
    [200, 5, Code.NotFound],
  ])("believes grpc-status before HTTP status %i in a response of headers alone", async (status, grpcStatus, code) => {
    const headers = { ":status": status, "content-type": "application/grpc", "grpc-status": String(grpcStatus) };
    const error = await greet((stream) =>
      stream.respond({ ...headers, "grpc-message": "so be it" }, { endStream: true }),
    );
    expect([error.code, error.rawMessage]).toEqual([code, "so be it"]);
  });

  it.each([
    ["n%C3%A9e", "née"],
    ["100 %", "100 %"],
    ["%zz%20", "%zz "],
    [undefined, ""],
  ])("reads the grpc-message %j", async (message, text) => {
    const trailers = { "grpc-status": "9", ...(message === undefined ? {} : { "grpc-message": message }) };
    expect((await greet((stream) => respond(stream, { trailers }))).rawMessage).toBe(text);
  });

  it.each(["17", "abc", "-1", ""])("treats the grpc-status %j as unknown", async (status) => {
    const error = await greet((stream) => respond(stream, { trailers: { "grpc-status": status } }));
    expect(error.code).toBe(Code.Unknown);
    expect(error.rawMessage).toContain(`grpc-status ${status}`);
  });

  it("does not treat a response without grpc-status as a success", async () => {
    const error = await greet((stream) => {
      stream.respond({ ":status": 200, "content-type": "application/grpc" });
      stream.end(envelope(""));
    });
    expect([error.code, error.rawMessage]).toEqual([Code.Internal, "the response ended without grpc-status"]);
  });

  it.each([
    [400, Code.Internal],
    [401, Code.Unauthenticated],
    [404, Code.Unimplemented],
    [429, Code.Unavailable],
    [503, Code.Unavailable],
    [418, Code.Unknown],
    [200, Code.Unknown],
  ])("infers the code of a page in HTML from HTTP status %i", async (status, code) => {
    const error = await greet((stream) => {
      stream.respond({ ":status": status, "content-type": "text/html" });
      stream.end("<html></html>");
    });
    expect(error.code).toBe(code);
    expect(error.rawMessage).toContain(`HTTP status ${status} and content type text/html`);
  });

  it.each([
    [7, Code.Unavailable],
    [8, Code.Canceled],
    [11, Code.ResourceExhausted],
    [12, Code.PermissionDenied],
    [2, Code.Internal],
    // Dubbo for Java resets streams with HTTP statuses as error codes.
    [415, Code.Internal],
    [500, Code.Internal],
  ])("maps a reset with HTTP/2 code %i, before and after the headers", async (reset, code) => {
    expect((await greet((stream) => stream.close(reset))).code).toBe(code);
    const late = await startFrames(GRPC_HEADERS, frame(3, 0, 1, Uint8Array.of(0, 0, reset >> 8, reset)));
    expect((await failureOf(connectGreeter(late).greet({}))).code).toBe(code);
  });

  it("accepts application/grpc as a response to application/grpc+proto, with te in the headers", async () => {
    const baseUrl = await startHttp2((stream) => respond(stream, { headers: { te: "trailers" } }));
    expect(await connectGreeter(baseUrl).greet({})).toMatchObject({ greeting: "" });
  });

  it.each([
    ["no message", new Uint8Array(), Code.Unimplemented],
    ["two messages", Buffer.concat([envelope(""), envelope("")]), Code.Unimplemented],
    ["half a message", envelope("abc").subarray(0, 6), Code.Internal],
    ["a message that is no proto", envelope("\x0a\x7fA"), Code.Internal],
    ["a compressed message without an encoding", envelope("", 1), Code.Internal],
    ["a message of 4 GiB", Uint8Array.of(0, 255, 255, 255, 255), Code.ResourceExhausted],
  ])("refuses a unary answer of %s", async (_, body, code) => {
    expect((await greet((stream) => respond(stream, { body }))).code).toBe(code);
  });

  it("refuses an encoding it did not ask for, and another codec", async () => {
    expect((await greet((stream) => respond(stream, { headers: { "grpc-encoding": "lzma" } }))).code).toBe(
      Code.Internal,
    );
    const json = { "content-type": "application/grpc+json" };
    expect((await greet((stream) => respond(stream, { headers: json }))).code).toBe(Code.Internal);
  });

  it("yields the messages of a stream that arrived before the connection was lost", async () => {
    const baseUrl = await startFrames(GRPC_HEADERS, frame(0, 0, 1, envelope("\x0a\x03Ada")), "close");
    const received: string[] = [];
    const reading = (async () => {
      for await (const { greeting } of connectGreeter(baseUrl).greetEach({})) received.push(greeting);
    })();
    expect((await failureOf(reading)).code).toBe(Code.Unavailable);
    expect(received).toEqual(["Ada"]);
  });

  it("reads the reason why a connection ends before the reset by bytes that follow the error, 200 times", async () => {
    const read: string[] = [];
    // FRAME_SIZE_ERROR, without the length and the text of the frame.
    const goAway = frame(7, 0, 0, Buffer.from([0, 0, 0, 0, 0, 0, 0, 6])).subarray(3);
    const port = await startPeer((socket) => {
      const chunks: Buffer[] = [];
      socket.on("data", (chunk) => chunks.push(chunk));
      socket.once("data", async () => {
        // A SETTINGS frame with ACK and a payload (RFC 9113, section 6.5), whose payload follows.
        socket.write(frame(4, 1, 0, Buffer.alloc(1)).subarray(0, 9));
        await pause(1);
        for (let i = 0; i < 4; i++) socket.write(Buffer.alloc(16_384));
      });
      socket.on("error", ({ message }) => read.push(message));
      socket.on("end", () => read.push(Buffer.concat(chunks).includes(goAway) ? "GOAWAY" : "no GOAWAY"));
    });
    for (let i = 0; i < 200; i++) await failureOf(connectGreeter(`http://127.0.0.1:${port}`).greet({}));
    await expect.poll(() => read.length, { timeout: 10_000 }).toBe(200);
    expect(read.filter((end) => end !== "GOAWAY")).toEqual([]);
  });

  it("uses the same connection for the next call after an error", async () => {
    let calls = 0;
    const baseUrl = await startHttp2((stream) => {
      if (++calls === 1) stream.close(2);
      else respond(stream, { body: envelope("\x0a\x03Ada") });
    });
    const greeter = connectGreeter(baseUrl);
    await failureOf(greeter.greet({}));
    expect(await greetings(greeter.greetEach({}))).toEqual(["Ada"]);
  });
});
