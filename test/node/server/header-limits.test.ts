/** The option `headerLimits` of servers and transports: the size of headers that either side sends and accepts. */
import { Code, createRouter, type Metadata, Status } from "triple-es";
import { createServer, createTransport, type NodeTransportOptions } from "triple-es/node";
import { describe, expect, it } from "vitest";
import { connectGreeter, failureOf, startServer } from "../../support/server.ts";

type Fields = Record<string, string>;

const KIB = 1024;
const fields = (count: number): Fields => Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, "a"]));
const large = (bytes: number): Fields => ({ "x-large": "a".repeat(bytes) });

const CLIENTS: readonly (readonly [string, Omit<NodeTransportOptions, "baseUrl">])[] = [
  ["grpc", {}],
  ["http-rpc over HTTP/1.1", { protocol: "http-rpc" }],
  ["http-rpc over HTTP/2", { protocol: "http-rpc", httpVersion: "2" }],
];

/** A server that returns the number of bytes of the request's metadata `x-large`. */
const measuring = {
  greet: (_: object, { requestHeaders }: { requestHeaders: Metadata }) => ({
    greeting: `${requestHeaders.get("x-large")?.length ?? 0}`,
  }),
};

describe.each(CLIENTS)("over %s", (_, options) => {
  const most = { fields: 2_000, bytes: 64 * KIB };

  it.each([
    // A client may report the limit in bytes from the server's SETTINGS_MAX_HEADER_LIST_SIZE itself.
    [
      "100 fields",
      fields(101),
      /^10\d header fields are more than the limit of 100 \(option headerLimits of the receiver\)$/,
    ],
    ["16 KiB", large(16 * KIB), / 16384\b/],
  ])("a server refuses requests beyond %s by default", async (_limit, headers, message) => {
    const { baseUrl } = await startServer();
    const client = connectGreeter(baseUrl, { ...options, headerLimits: { request: most } });
    const error = await failureOf(client.greet({}, { headers }));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect(error.rawMessage).toMatch(message);
  });

  it("a server accepts header fields up to the limits of its option, up to 60 KiB in one field", async () => {
    const { baseUrl } = await startServer(measuring, { headerLimits: { request: most } });
    const client = connectGreeter(baseUrl, { ...options, headerLimits: { request: most } });
    expect((await client.greet({}, { headers: fields(500) })).greeting).toBe("0");
    expect((await client.greet({}, { headers: large(60 * KIB) })).greeting).toBe(`${60 * KIB}`);
  });

  it("a server refuses requests beyond lower limits than the default", async () => {
    const { baseUrl } = await startServer({}, { headerLimits: { request: { fields: 20, bytes: 2 * KIB } } });
    const client = connectGreeter(baseUrl, options);
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
    expect((await failureOf(client.greet({}, { headers: fields(21) }))).rawMessage).toMatch(
      /more than the limit of 20 \(option headerLimits of the receiver\)$/,
    );
    expect((await failureOf(client.greet({}, { headers: large(2 * KIB) }))).rawMessage).toMatch(/ 2048\b/);
  });

  it("a client sends no metadata beyond its limits, and names the option", async () => {
    const { baseUrl } = await startServer();
    const client = connectGreeter(baseUrl, { ...options, headerLimits: { request: { bytes: KIB } } });
    for (const headers of [large(KIB), fields(101)]) {
      const error = await failureOf(client.greet({}, { headers }));
      expect([error.code, error.status]).toEqual([Code.InvalidArgument, Status.ClientError]);
      expect(error.rawMessage).toMatch(
        /^metadata cannot be sent: .* (limit of 1024 bytes|more than the limit of 100) \(option headerLimits\)$/,
      );
    }
    expect((await client.greet({ name: "Ada" })).greeting).toBe("Hello, Ada!");
  });

  it("a handler's metadata may reach the limit of the option, and fails the call beyond it", async () => {
    const answering = (headerLimits: object | undefined, errors: unknown[] = []): ReturnType<typeof startServer> =>
      startServer(
        {
          greet: (_request, { responseHeaders }) => {
            responseHeaders.set("x-large", "a".repeat(20 * KIB));
            return {};
          },
        },
        { headerLimits, onError: (error) => errors.push(error) },
      );
    const errors: unknown[] = [];
    const { baseUrl } = await answering(undefined, errors);
    expect((await failureOf(connectGreeter(baseUrl, options).greet({}))).code).toBe(Code.Internal);
    expect(errors.map(String)).toEqual([
      "TypeError: metadata cannot be sent: the headers are larger than the limit of 16384 bytes (option headerLimits)",
    ]);
    const generous = await answering({ response: { bytes: 32 * KIB } });
    let received: Metadata | undefined;
    await connectGreeter(generous.baseUrl, options).greet({}, { onHeaders: (headers) => (received = headers) });
    expect(received?.get("x-large")).toHaveLength(20 * KIB);
  });

  it.each(["responseHeaders", "responseTrailers"] as const)("a client refuses %s beyond its limits", async (where) => {
    const { baseUrl } = await startServer({
      greet: ({ name }, context) => {
        context[where].set("x-large", "a".repeat(2 * KIB));
        return { greeting: name };
      },
      async *greetEach(_request, context) {
        context[where].set("x-large", "a".repeat(2 * KIB));
        yield { greeting: "one" };
      },
    });
    const limited = connectGreeter(baseUrl, { ...options, headerLimits: { response: { bytes: 2 * KIB } } });
    const calls = [failureOf(limited.greet({}))];
    if (options.protocol === undefined) calls.push(failureOf(limited.greetEach({})));
    for (const error of await Promise.all(calls)) {
      expect([error.code, error.status]).toEqual([Code.ResourceExhausted, Status.BadResponse]);
      expect(error.rawMessage).toMatch(/of the response .* the limit of 2048.* \(option headerLimits\)$/);
    }
    const enough = connectGreeter(baseUrl, { ...options, headerLimits: { response: { bytes: 4 * KIB } } });
    expect((await enough.greet({ name: "Ada" })).greeting).toBe("Ada");
  });

  it("a client refuses a response with more fields than its limit", async () => {
    const { baseUrl } = await startServer({
      greet: (_request, { responseHeaders }) => {
        responseHeaders.appendAll(fields(30));
        return {};
      },
    });
    const client = connectGreeter(baseUrl, { ...options, headerLimits: { response: { fields: 30 } } });
    const error = await failureOf(client.greet({}));
    expect(error.rawMessage).toMatch(
      /^the headers of the response are refused: 3\d header fields are more than the limit of 30 \(option headerLimits\)$/,
    );
  });
});

it.each([
  [{ request: { fields: 0 } }, "headerLimits.request.fields must be an integer between 1 and 2000, not 0"],
  [{ request: { bytes: 65_537 } }, "headerLimits.request.bytes must be an integer between 1 and 65536, not 65537"],
  [{ response: { fields: 2_001 } }, "headerLimits.response.fields must be an integer between 1 and 2000, not 2001"],
  [{ response: { bytes: 1.5 } }, "headerLimits.response.bytes must be an integer between 1 and 65536, not 1.5"],
  [{ request: { bytes: Number.NaN } }, "headerLimits.request.bytes must be an integer between 1 and 65536, not NaN"],
  [{ request: { size: 1 } }, 'headerLimits.request: "size" is not among: fields, bytes'],
  [{ bytes: 1 }, 'headerLimits: "bytes" is not among: request, response'],
  [null, "headerLimits must be an object with some of: request, response"],
  [{ response: null }, "headerLimits.response must be an object with some of: fields, bytes"],
])("%j is refused when it is set", (headerLimits, message) => {
  const options = { headerLimits } as object;
  expect(() => createServer(options)).toThrow(message);
  expect(() => createRouter(options)).toThrow(message);
  expect(() => createTransport({ baseUrl: "http://localhost:1", ...options })).toThrow(message);
});
