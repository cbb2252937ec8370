/** The example with tokens and client certificates. */
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect, type TLSSocket } from "node:tls";
import { Code, createInMemoryTransport, createRouter, RpcError } from "triple-es";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import {
  createShopServiceClient,
  type ShopServiceClient,
  ShopServiceDef,
} from "../../examples/gen/shop/v1/shop_triple.ts";
import { bearer } from "../../examples/security/src/bearer.ts";
import { createShop } from "../../examples/shop/shop.ts";
import { hasOpenssl } from "../support/certificate.ts";
import { isExampleInstalled, prepareExample, runExample } from "../support/examples.ts";
import { type Program, startProgram } from "../support/program.ts";
import { failureOf, openTransport } from "../support/server.ts";

describe.skipIf(!isExampleInstalled("security") || !hasOpenssl)("the example security (needs openssl)", () => {
  const certificates = mkdtempSync(join(tmpdir(), "triple-es-security-"));
  let server: Program;
  let environment: NodeJS.ProcessEnv;
  let customers: string;
  let services: string;
  let tokens: string;

  beforeAll(async () => {
    await prepareExample("security");
    environment = { CERTIFICATES: certificates, PORT: "0", SERVICES_PORT: "0", ISSUER_PORT: "0" };
    await runExample("security", "certificates", environment);
    server = startProgram("security", ["npm", "run", "--silent", "server"], environment);
    [, customers = ""] = await server.line(/customers: (.*)/);
    [, services = ""] = await server.line(/services: (.*)/);
    [, tokens = ""] = await server.line(/tokens: (.*)/);
    environment = {
      CERTIFICATES: certificates,
      PORT: new URL(customers).port,
      SERVICES_PORT: new URL(services).port,
      ISSUER_PORT: new URL(tokens).port,
    };
  });

  afterAll(async () => {
    await server?.stop();
    rmSync(certificates, { recursive: true, force: true });
  });

  const read = (file: string): string => readFileSync(join(certificates, file), "utf8");

  const customer = (token: string): ShopServiceClient =>
    createShopServiceClient(openTransport(customers, { tls: { ca: read("ca.crt") } }), {
      headers: { authorization: `Bearer ${token}` },
    });

  const service = (name: string): ShopServiceClient =>
    createShopServiceClient(
      openTransport(services, { tls: { ca: read("ca.crt"), cert: read(`${name}.crt`), key: read(`${name}.key`) } }),
    );

  const tokenOf = async (query: string): Promise<string> => {
    const answer = (await (await fetch(`${tokens}?${query}`)).json()) as { access_token: string };
    return answer.access_token;
  };

  it("prints what its README says", async () => {
    const output = await runExample("security", "client", environment);
    expect(output.trim().split("\n")).toEqual([
      "[unauthenticated] a token is needed: send the header authorization: Bearer <token>",
      expect.stringMatching(/^\[unauthenticated\] the token expired at \d{4}-.*Z; get a new one$/),
      "[permission_denied] the token of bob needs the scope orders",
      "order 1 of ann, with token 2",
      "warehouse: order 1 of ann",
      "reporting: [permission_denied] spiffe://shop.example/reporting may not call WatchOrders",
      expect.stringMatching(/^stranger: \[unavailable\] connection to localhost:\d+ failed: /),
    ]);
    const [, reason] = await server.line(/refused a client: the client's certificate is refused: (.*)/);
    expect(reason).toBe("UNABLE_TO_VERIFY_LEAF_SIGNATURE");
  });

  it("accepts tokens of its issuer only", async () => {
    const token = await tokenOf("user=ann&scope=orders");
    expect((await customer(token).listProducts({})).products.length).toBe(3);
    const [header = "", payload = "", signature = ""] = token.split(".");
    const changed = (part: string, change: object): string =>
      Buffer.from(JSON.stringify({ ...JSON.parse(Buffer.from(part, "base64url").toString()), ...change })).toString(
        "base64url",
      );
    const messageOf = async (forged: string): Promise<string> => {
      const failure = await failureOf(customer(forged).listProducts({}));
      expect(failure.code).toBe(Code.Unauthenticated);
      return failure.rawMessage;
    };
    const withUser = changed(payload, { sub: "eve" });
    expect(await messageOf(`${header}.${withUser}.${signature}`)).toMatch(/^the token is not valid: signature/);
    expect(await messageOf(`${changed(header, { alg: "none" })}.${withUser}.`)).toMatch(/^the token is not valid: /);
    expect(await messageOf("nonsense")).toMatch(/^the token is not valid: /);
  });

  it("places orders under the name of the token", async () => {
    const items = [{ productId: 2n, quantity: 1 }];
    const delivery = { case: "pickup", value: "Main street" } as const;
    const { order } = await customer(await tokenOf("user=zoe&scope=orders")).placeOrder({
      customer: "somebody else",
      items,
      delivery,
    });
    expect(order?.customer).toBe("zoe");
  });

  it("presents a renewed certificate without a restart, and keeps its connections", async () => {
    const fingerprint = (pem: string): string =>
      createHash("sha256")
        .update(Buffer.from(pem.replace(/-----.*-----/g, ""), "base64"))
        .digest("hex");
    const served = async (): Promise<string> => {
      const { hostname, port } = new URL(customers);
      const socket: TLSSocket = connect({
        host: hostname,
        port: Number(port),
        servername: hostname,
        ca: read("ca.crt"),
      });
      onTestFinished(() => void socket.destroy());
      await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
      return socket.getPeerCertificate().fingerprint256.replaceAll(":", "").toLowerCase();
    };
    const warehouse = service("warehouse");
    await warehouse.listProducts({});
    const before = await served();
    expect(before).toBe(fingerprint(read("server.crt")));

    await runExample("security", "certificates", environment);
    expect(await served()).toBe(fingerprint(read("server.crt")));
    expect(await served()).not.toBe(before);

    expect((await warehouse.listProducts({})).products.length).toBe(3);
    expect((await service("warehouse").listProducts({})).products.length).toBe(3);
    expect((await failureOf(service("stranger").listProducts({}))).code).toBe(Code.Unavailable);
  });
});

describe("the interceptor of the example that renews tokens", () => {
  const open = (expiresIn: readonly number[], accepted: ReadonlySet<string>) => {
    let fetched = 0;
    const fetchToken = async () => ({
      value: String(++fetched),
      expiresAt: Date.now() + (expiresIn[fetched - 1] ?? 0),
    });
    const router = createRouter({
      interceptors: [
        (next) => async (request) => {
          const token = request.headers.get("authorization")?.replace("Bearer ", "") ?? "";
          if (!accepted.has(token)) throw new RpcError(Code.Unauthenticated, `token ${token} is not valid`);
          return next(request);
        },
      ],
    }).add(ShopServiceDef, createShop());
    const transport = createInMemoryTransport(router, { interceptors: [bearer(fetchToken)] });
    return { shop: createShopServiceClient(transport), fetched: () => fetched };
  };

  it("fetches one token for calls at the same time, and another before it expires", async () => {
    const { shop, fetched } = open([5_000, 300_000], new Set(["1", "2"]));
    const three = () => Promise.all([shop.listProducts({}), shop.listProducts({}), shop.listProducts({})]);
    await three();
    expect(fetched()).toBe(2);
    await three();
    expect(fetched()).toBe(2);
  });

  it("fetches another token for a call that the server refuses, but only once", async () => {
    const { shop, fetched } = open([300_000, 300_000, 300_000], new Set(["2"]));
    expect((await shop.listProducts({})).products.length).toBe(3);
    expect(fetched()).toBe(2);
    const refused = open([300_000, 300_000, 300_000], new Set());
    expect((await failureOf(refused.shop.listProducts({}))).rawMessage).toBe("token 2 is not valid");
    expect(refused.fetched()).toBe(2);
  });
});
