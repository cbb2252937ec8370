/** The health service: the status of a server for single checks and for watches. */
import { Code, createInMemoryTransport, createRouter, type Router } from "triple-es";
import { addHealth, createHealthClient, type HealthClient, type HealthStatus, ServingStatus } from "triple-es/health";
import { createServer } from "triple-es/node";
import { describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { failureOf, greeter, openTransport } from "../support/server.ts";

const GREETER = "greet.v1.GreetService";
const { SERVING, NOT_SERVING, SERVICE_UNKNOWN, UNKNOWN } = ServingStatus;

function connect(router: Router, protocol: "grpc" | "http-rpc" = "grpc"): HealthClient {
  return createHealthClient(createInMemoryTransport(router, { protocol }));
}

function watch(client: HealthClient, service: string, signal?: AbortSignal) {
  const statuses = client.watch({ service }, { signal })[Symbol.asyncIterator]();
  return async () => (await statuses.next()).value?.status as ServingStatus | undefined;
}

describe.each(["grpc", "http-rpc"] as const)("Check over %s", (protocol) => {
  const router = createRouter()
    .add(GreetServiceDef, greeter)
    .add(GreetServiceDef, greeter, { group: "g", version: "2" });
  const health = addHealth(router);
  const client = connect(router, protocol);
  const check = async (service: string) => (await client.check({ service })).status;

  it.each(["", GREETER, `g/${GREETER}:2`, "grpc.health.v1.Health"])("finds %j serving", async (service) => {
    expect(await check(service)).toBe(SERVING);
  });

  it("does not contain other services", async () => {
    const { code, rawMessage } = await failureOf(check("acme.Shop"));
    expect([code, rawMessage]).toEqual([Code.NotFound, 'there is no service "acme.Shop"']);
  });

  it("returns the status that was set, for services with any name", async () => {
    health.set(GREETER, "not_serving").set("acme.Queue", "unknown");
    expect([await check(GREETER), await check("acme.Queue"), await check("")]).toEqual([NOT_SERVING, UNKNOWN, SERVING]);
    expect([health.get(GREETER), health.get("acme.Shop")]).toEqual(["not_serving", undefined]);
    health.set(GREETER, "serving");
  });
});

describe("List", () => {
  it("names every service", async () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    addHealth(router).set(GREETER, "not_serving");
    const { statuses } = await connect(router).list({});
    expect(Object.entries(statuses).map(([name, { status }]) => [name, status])).toEqual([
      ["", SERVING],
      [GREETER, NOT_SERVING],
      ["grpc.health.v1.Health", SERVING],
    ]);
  });

  it("refuses more than 100", async () => {
    const router = createRouter();
    const health = addHealth(router);
    for (let i = 0; i < 99; i++) health.set(`acme.S${i}`, "serving");
    const { code } = await failureOf(connect(router).list({}));
    expect(code).toBe(Code.ResourceExhausted);
  });
});

describe("Watch", () => {
  it("sends the current status and each change, once", async () => {
    const router = createRouter().add(GreetServiceDef, greeter);
    const health = addHealth(router);
    const abort = new AbortController();
    const next = watch(connect(router), GREETER, abort.signal);
    expect(await next()).toBe(SERVING);
    const changed = next();
    health.set(GREETER, "serving").set("acme.Other", "serving").set(GREETER, "not_serving");
    expect(await changed).toBe(NOT_SERVING);
    abort.abort();
    await expect(next()).rejects.toMatchObject({ code: Code.Canceled });
  });

  it("sends the status of a service that is added later", async () => {
    const router = createRouter();
    const health = addHealth(router);
    const next = watch(connect(router), "acme.Late");
    expect(await next()).toBe(SERVICE_UNKNOWN);
    const known = next();
    health.set("acme.Late", "serving");
    expect(await known).toBe(SERVING);
  });

  it("leaves no listeners on the server when the client disconnects", async () => {
    const server = createServer();
    let ended = 0;
    const health = addHealth(server, {
      interceptors: [
        (next) => async (request) => {
          request.context.signal?.addEventListener("abort", () => ended++);
          return next(request);
        },
      ],
    });
    await server.listen({ port: 0, host: "127.0.0.1" });
    const client = createHealthClient(openTransport(`http://127.0.0.1:${server.address.port}`));
    const abort = new AbortController();
    const next = watch(client, "", abort.signal);
    expect(await next()).toBe(SERVING);
    abort.abort();
    await expect.poll(() => ended).toBe(1);
    health.set("", "not_serving");
    // With an open watch, this would take the whole grace period.
    await server.close({ graceMs: 60_000 });
  });

  it("ends when the server closes, after the final status", async () => {
    const server = createServer().add(GreetServiceDef, greeter);
    addHealth(server);
    await server.listen({ port: 0, host: "127.0.0.1" });
    onTestFinished(() => server.close({ graceMs: 0 }));
    const client = createHealthClient(openTransport(`http://127.0.0.1:${server.address.port}`));
    const [whole, unknown] = [watch(client, ""), watch(client, "acme.Shop")];
    expect([await whole(), await unknown()]).toEqual([SERVING, SERVICE_UNKNOWN]);
    const closed = server.close({ graceMs: 60_000 });
    expect(await whole()).toBe(NOT_SERVING);
    await expect(whole()).rejects.toMatchObject({ code: Code.Unavailable, rawMessage: "the server is shutting down" });
    await expect(unknown()).rejects.toMatchObject({ code: Code.Unavailable });
    await closed;
  });
});

describe("statuses", () => {
  it("stay not_serving after shutdown", async () => {
    const router = createRouter();
    const health = addHealth(router);
    health.shutdown();
    health.set("", "serving");
    expect((await connect(router).check({})).status).toBe(NOT_SERVING);
  });

  it("must be ones there are", () => {
    const health = addHealth(createRouter());
    expect(() => health.set("", "SERVING" as HealthStatus)).toThrow(
      'status must be in ["unknown","serving","not_serving"], not "SERVING"',
    );
  });
});
