import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type CorsOptions, createRouter } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { describe, expect, it } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import {
  envelope,
  type Fields,
  GREET,
  greetRequest,
  grpcRequest,
  routeGreeter,
  rpcRequest,
  textOf,
} from "../support/greeter.ts";
import { greeter, startServer } from "../support/server.ts";

const run = promisify(execFile);
const APP = "https://app.example.com";
const PREFLIGHT: Fields = {
  "content-type": undefined,
  origin: APP,
  "access-control-request-method": "POST",
  "access-control-request-headers": "content-type,tri-protocol-version,x-mine-bin",
};

function preflight(cors: CorsOptions | undefined, headers: Fields = {}, path = GREET) {
  const request = rpcRequest({ method: "OPTIONS", path, headers: { ...PREFLIGHT, ...headers }, body: "" });
  return routeGreeter({}, { cors }).exchange(request);
}

function call(cors: CorsOptions | undefined, headers: Fields = { origin: APP }) {
  return routeGreeter({ greet: withMetadata }, { cors }).exchange(rpcRequest({ headers }));
}

const withMetadata: typeof greeter.greet = ({ name }, context) => {
  context.responseHeaders.set("x-leading", "1");
  context.responseTrailers.set("x-trailing", "2");
  return { greeting: name };
};

describe("a preflight", () => {
  it("is granted for an allowed origin with the requested method and headers", async () => {
    const { status, headers, body } = await preflight({ origins: [APP] });
    expect([status, body.whole?.byteLength]).toEqual([204, 0]);
    expect(Object.fromEntries(headers)).toEqual({
      "access-control-allow-origin": APP,
      "access-control-allow-methods": "POST",
      "access-control-allow-headers": "content-type,tri-protocol-version,x-mine-bin",
      "access-control-max-age": "7200",
      vary: "origin, access-control-request-headers",
    });
  });

  it("is answered before any other check", async () => {
    expect((await preflight({ origins: "*" }, { "content-type": "application/grpc" }, "/nothing/Here")).status).toBe(
      204,
    );
  });

  it("has the configured credentials", async () => {
    const { headers } = await preflight({ origins: [APP], credentials: true });
    expect(headers.get("access-control-allow-credentials")).toBe("true");
  });

  it.each(["https://evil.example.com", "null", "http://app.example.com", `${APP}:8443`, `${APP}.evil.example`, ""])(
    "is refused for the origin %j",
    async (origin) => {
      const response = await preflight({ origins: [APP] }, { origin });
      expect(response.status).toBe(403);
      expect(JSON.parse(await textOf(response))).toEqual({
        status: 40,
        code: "permission_denied",
        message: `pages of the origin ${origin} may not call this server`,
      });
      expect(response.headers.has("access-control-allow-origin")).toBe(false);
    },
  );

  it("grants no headers if it requests none or invalid ones", async () => {
    for (const wanted of [undefined, "", "a b", "a\r\nb", "é"]) {
      const { status, headers } = await preflight({ origins: [APP] }, { "access-control-request-headers": wanted });
      expect([status, headers.has("access-control-allow-headers")]).toEqual([204, false]);
    }
  });

  it("is an unsupported verb if cors is off or the request is not a preflight", async () => {
    const answers = [
      await preflight(undefined),
      await preflight({ origins: [APP] }, { "access-control-request-method": undefined }),
      await preflight({ origins: [APP] }, { origin: undefined }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers.get("allow")])).toEqual(Array(3).fill([405, "POST"]));
  });
});

describe("an answer", () => {
  it("exposes all metadata to a page of an allowed origin", async () => {
    const { status, headers } = await call({ origins: [APP], credentials: true });
    expect(status).toBe(200);
    expect(Object.fromEntries(headers)).toMatchObject({
      "access-control-allow-origin": APP,
      "access-control-allow-credentials": "true",
      "access-control-expose-headers": "x-content-type-options, x-leading, trailer-x-trailing",
      vary: "origin",
    });
  });

  it("has a wildcard and no vary if every origin is allowed", async () => {
    const { headers } = await call({ origins: "*" });
    expect(headers.get("access-control-allow-origin")).toBe("*");
    expect(headers.has("vary")).toBe(false);
  });

  it.each([undefined, "https://evil.example.com"])(
    "does not allow the origin %s to read it, and has vary",
    async (origin) => {
      const { status, headers } = await call({ origins: [APP] }, { origin });
      expect([status, headers.has("access-control-allow-origin"), headers.get("vary")]).toEqual([200, false, "origin"]);
    },
  );

  it("can be read too if it is an error", async () => {
    const { status, headers } = await call({ origins: [APP] }, { origin: APP, "content-type": "image/png" });
    expect([status, headers.get("access-control-allow-origin")]).toEqual([415, APP]);
    expect(headers.get("access-control-expose-headers")).toContain("accept-post");
  });

  it("is granted in the same way over sub-protocol B", async () => {
    const { exchange } = routeGreeter({}, { cors: { origins: [APP] } });
    const { headers } = await exchange(grpcRequest({ headers: { origin: APP }, body: envelope(greetRequest("Ada")) }));
    expect(headers.get("access-control-allow-origin")).toBe(APP);
  });

  it("has no CORS headers if cors is off", async () => {
    const { headers } = await call(undefined);
    expect([...headers].filter(([name]) => name.startsWith("access-control") || name === "vary")).toEqual([]);
  });
});

describe("options", () => {
  it.each<[CorsOptions, string]>([
    [{ origins: "*", credentials: true }, "credentials need a list of origins"],
    [{ origins: ["https://a.example/"] }, '"https://a.example/" is not an origin'],
    [{ origins: ["https://a.example/path"] }, "is not an origin"],
    [{ origins: ["a.example"] }, "is not an origin"],
    [
      { origins: ["*"] },
      '"*" is not an origin; it must be like https://app.example.com, with no path; origins: "*" allows all',
    ],
    [{ origins: [APP, undefined as never] }, '"undefined" is not an origin'],
    [{ origins: ["null"] }, "is not an origin"],
    [{ origins: [APP], maxAge: 5 } as CorsOptions, 'cors: "maxAge" is not among: origins'],
    [{ origins: ["https://A.example"] }, "is not an origin"],
  ])("%j are refused at the start", (cors, message) => {
    expect(() => createRouter({ cors })).toThrow(message);
  });

  it.each([true, false, {}, { origins: APP }, { origins: true }, { origins: new Set([APP]) }])(
    "must hold a list of origins, which %j does not",
    (cors) => {
      expect(() => createRouter({ cors: cors as never })).toThrow(
        new TypeError('cors takes { origins: ["https://app.example.com"] } or { origins: "*" }'),
      );
    },
  );

  it("may name origins of every scheme that browsers have", () => {
    const origins = ["http://localhost:5173", "https://[::1]:8443", "chrome-extension://abcdefghijklmnop"];
    expect(() => createRouter({ cors: { origins } })).not.toThrow();
  });
});

describe("over the network", () => {
  it.each(["--http1.1", "--http2-prior-knowledge"])(
    "curl %s receives a response to a browser's preflight",
    async (version) => {
      const { baseUrl } = await startServer({}, { cors: { origins: [APP] } });
      const headers = Object.entries(PREFLIGHT).flatMap(([name, value]) =>
        value === undefined ? [] : ["-H", `${name}: ${value}`],
      );
      const url = baseUrl + GREET;
      const { stdout } = await run("curl", ["-si", "--noproxy", "*", version, "-X", "OPTIONS", ...headers, url]);
      expect(stdout).toMatch(/^HTTP\/\S+ 204/);
      expect(stdout).toContain(`access-control-allow-origin: ${APP}`);
      expect(stdout).not.toMatch(/content-length|transfer-encoding/i);
    },
  );

  it("a fetch handler answers it too", async () => {
    const handle = fetchHandler(createRouter({ cors: { origins: [APP] } }).add(GreetServiceDef, greeter));
    const headers = { origin: APP, "access-control-request-method": "POST" };
    const answer = await handle(new Request(`https://api.example.com${GREET}`, { method: "OPTIONS", headers }));
    expect([answer.status, answer.headers.get("access-control-allow-origin")]).toEqual([204, APP]);
  });
});
