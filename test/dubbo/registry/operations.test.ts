/** Operations of a registered server: its resources, and calls that continue while it goes offline and online again. */
import { type HttpResponse, Metadata, RpcError } from "triple-es";
import type { Endpoint, Instance, Registry } from "triple-es/discovery";
import { addHealth } from "triple-es/health";
import { createServer, createTransport } from "triple-es/node";
import { addOperations, register } from "triple-es-dubbo";
import { expect, it, onTestFinished, vi } from "vitest";
import { keepRegistered, type Publisher, type Session } from "../../../dubbo/src/registry/registration.ts";
import { createGreetServiceClient, GreetServiceDef } from "../../../examples/gen/greet/v1/greet_triple.ts";
import { emptyBody } from "../../../runtime/src/http/body.ts";
import { greeter } from "../../support/server.ts";

/** A registry in memory. */
function memory() {
  const entries = new Map<string, Instance>();
  const watchers = new Set<() => void>();
  const control = { answers: Promise.resolve() };
  const session: Session = { lost: new AbortController().signal };
  const addressOf = ({ host, port }: Instance): string => `${host}:${port}`;
  const change = async (apply: () => void): Promise<void> => {
    await control.answers;
    apply();
    for (const wake of watchers) wake();
  };
  const publisher: Publisher<Session> = {
    open: async () => session,
    publish: (_, instance) => change(() => entries.set(addressOf(instance), instance)),
    withdraw: (_, instance) => change(() => entries.delete(addressOf(instance))),
  };
  const registry: Registry = {
    resolver: () =>
      async function* ({ signal }) {
        while (!signal.aborted) {
          const changed = new Promise<void>((resolve) => {
            watchers.add(resolve);
            signal.addEventListener("abort", () => resolve());
          });
          yield [...entries].map(([address, { weight }]): Endpoint => ({ address, weight }));
          await changed;
        }
      },
    register: (instance, onEvent) => keepRegistered(publisher, instance, onEvent),
    close: async () => {},
  };
  return { registry, entries, control };
}

const TOKEN = { authorization: "Bearer secret" };
const PROPAGATION_MS = 50;

/** A server that is registered, counts its calls, and accepts operations with the token. */
async function startProvider({ registry }: Pick<ReturnType<typeof memory>, "registry">) {
  const calls = { count: 0 };
  const errors: unknown[] = [];
  const server = createServer({ onError: (error) => errors.push(error) }).add(
    GreetServiceDef,
    {
      ...greeter,
      greet: ({ name }) => {
        calls.count++;
        return { greeting: name };
      },
    },
    { group: "blue" },
  );
  addHealth(server);
  await server.listen({ port: 0, host: "127.0.0.1" });
  onTestFinished(() => server.close({ graceMs: 0 }));
  const registration = register(server, registry, {
    application: "shop",
    propagationMs: PROPAGATION_MS,
    warmUp: false,
  });
  addOperations(server, [registration], {
    authorize: ({ headers }) => {
      if (headers.has("broken")) throw new Error("no user directory");
      return headers.get("authorization") === TOKEN.authorization;
    },
  });
  await registration.ready;
  const send = async (method: string, path: string, fields: Record<string, string> = TOKEN) => {
    const request = { method, path, version: "1.1", headers: new Metadata(fields), body: emptyBody, signal: undefined };
    return read(await server.exchange(request as Parameters<typeof server.exchange>[0]));
  };
  return { server, registration, calls, errors, send, address: `127.0.0.1:${server.address.port}` };
}

async function read({ status, headers, body }: HttpResponse) {
  const text = new TextDecoder().decode(await body.bytes(Number.POSITIVE_INFINITY));
  return { status, text, allow: headers.get("allow") };
}

it.each([undefined, {}, { authorize: true }])("addOperations with %j throws: there is no default", (options) => {
  const server = createServer();
  expect(() => addOperations(server, [], options as never)).toThrow(
    new TypeError("addOperations needs authorize, a function that decides who may take the server offline"),
  );
  expect(server.serves({ method: "GET", path: "/-/ready" })).toBe(false);
});

it.each([[[]], [{}]])("addOperations of %j throws: it would do nothing", (registrations) => {
  const options = { authorize: () => true };
  expect(() => addOperations(createServer(), registrations as never, options)).toThrow(
    "addOperations needs a list of registrations, such as [register(server, registry, options)]",
  );
});

it.each(["GET /-/ls", "POST /-/offline", "POST /-/online"])("%s is refused without permission", async (operation) => {
  const { entries, registry } = memory();
  const { send, registration, errors, address } = await startProvider({ registry });
  const [method = "", path = ""] = operation.split(" ");
  const refused = { status: 403, text: "authorize of addOperations has refused the request\n" };
  expect(await send(method, path, {})).toMatchObject(refused);
  expect(await send(method, path, { authorization: "Bearer guess" })).toMatchObject(refused);
  expect(errors).toEqual([]);
  expect(await send(method, path, { ...TOKEN, broken: "1" })).toMatchObject(refused);
  expect(errors).toEqual([new Error("no user directory")]);
  for (const page of [{ origin: "http://localhost" }, { "sec-fetch-site": "same-origin" }]) {
    expect(await send(method, path, { ...TOKEN, ...page })).toMatchObject({ status: 403, text: /pages/ });
  }
  expect([registration.status(), ...entries.keys()]).toEqual(["registered", address]);
});

it("other paths and methods are refused, and the probe is for everyone", async () => {
  const { send, server } = await startProvider(memory());
  expect(await send("GET", "/-/ready", {})).toMatchObject({ status: 200, text: "true\n" });
  expect(await send("HEAD", "/-/ready?x=1", {})).toMatchObject({ status: 200, text: "" });
  expect(await send("POST", "/-/ready")).toMatchObject({ status: 405, allow: "GET, HEAD" });
  expect(await send("POST", "/-/ls")).toMatchObject({ status: 405, allow: "GET, HEAD" });
  expect(await send("GET", "/-/offline")).toMatchObject({ status: 405, allow: "POST" });
  for (const path of ["/-/", "/-/constructor", "/-/offline/", "/-/metrics"]) {
    expect(server.serves({ method: "POST", path })).toBe(false);
  }
});

it("an operation whose client has left before it was authorized is refused", async () => {
  const { registry } = memory();
  const { server, registration } = await startProvider({ registry });
  let allow = (_: boolean): void => {};
  const decision = new Promise<boolean>((resolve) => {
    allow = resolve;
  });
  const slow = createServer();
  addOperations(slow, [registration], { authorize: () => decision });
  const client = new AbortController();
  const request = { method: "POST", path: "/-/offline", version: "1.1", headers: new Metadata(), body: emptyBody };
  const answer = slow.exchange({ ...request, signal: client.signal } as Parameters<typeof server.exchange>[0]);
  client.abort();
  allow(true);
  expect((await answer).status).toBe(403);
  expect(registration.status()).toBe("registered");
});

it("ls lists the services, and the status of their registrations", async () => {
  const { send, address } = await startProvider(memory());
  const listed = async (): Promise<unknown[]> => JSON.parse((await send("GET", "/-/ls")).text);
  const greet = { service: "greet.v1.GreetService", group: "blue" };
  const registration = { application: "shop", address };
  expect(await listed()).toContainEqual({ ...greet, registrations: [{ ...registration, status: "registered" }] });
  expect(await listed()).toContainEqual({ service: "grpc.health.v1.Health", registrations: [] });
  const offline = await send("POST", "/-/offline");
  expect(offline.status).toBe(200);
  expect(JSON.parse(offline.text)).toEqual(await listed());
  expect(await listed()).toContainEqual({ ...greet, registrations: [{ ...registration, status: "offline" }] });
  expect(await send("GET", "/-/ready", {})).toMatchObject({ status: 503, text: "false\n" });
  expect((await send("POST", "/-/online")).status).toBe(200);
  expect(await send("GET", "/-/ready", {})).toMatchObject({ status: 200, text: "true\n" });
});

it("a change that a registry does not confirm in time answers with 503, and stays in force", async () => {
  const { registry, control, entries } = memory();
  const { send, registration } = await startProvider({ registry });
  let answer = (): void => {};
  control.answers = new Promise((resolve) => {
    answer = resolve;
  });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const offline = send("POST", "/-/offline");
  await vi.advanceTimersByTimeAsync(5_000);
  const text = "not all registrations are offline yet, and the server keeps trying; see /-/ls\n";
  expect(await offline).toMatchObject({ status: 503, text });
  expect(registration.status()).toBe("registered");
  answer();
  await vi.waitFor(() => expect(registration.status()).toBe("offline"));
  expect(entries.size).toBe(0);
});

it("a server whose registration is closed does not claim to be online", async () => {
  const { send, registration } = await startProvider(memory());
  await registration.close();
  expect(await send("POST", "/-/online")).toMatchObject({ status: 503, text: "all are closed; see /-/ls\n" });
  expect(await send("POST", "/-/offline")).toMatchObject({ status: 200 });
});

it("no call fails while one of two servers goes offline and online again", async () => {
  const { registry, entries } = memory();
  const [first, second] = [await startProvider({ registry }), await startProvider({ registry })];
  const transport = createTransport({ registry });
  onTestFinished(() => transport.close());
  const client = createGreetServiceClient(transport, { group: "blue" });
  const failures: RpcError[] = [];
  let isOver = false;
  const load = Array.from({ length: 4 }, async () => {
    while (!isOver) {
      await client.greet({ name: "x" }).catch((error: unknown) => failures.push(RpcError.from(error)));
      await new Promise((resolve) => setImmediate(resolve));
    }
  });
  const more = (provider: typeof first, count: number) => {
    const before = provider.calls.count;
    return expect.poll(() => provider.calls.count - before).toBeGreaterThan(count);
  };
  await Promise.all([more(first, 20), more(second, 20)]);

  const operate = (path: string) => fetch(`http://${first.address}${path}`, { method: "POST", headers: TOKEN });
  expect((await operate("/-/offline")).status).toBe(200);
  expect([...entries.keys()]).toEqual([second.address]);
  // The endpoint is given up after GOAWAY only, because a list is advice.
  await expect.poll(() => transport.endpoints().map(({ address }) => address)).toEqual([second.address]);
  const whileSecondTakes50 = async (): Promise<number> => {
    const { count } = first.calls;
    await more(second, 50);
    return first.calls.count - count;
  };
  await expect.poll(whileSecondTakes50).toBe(0);
  // The process lives on: it answers calls of clients with its address.
  const direct = createTransport({ baseUrl: `http://${first.address}` });
  onTestFinished(() => direct.close());
  expect((await createGreetServiceClient(direct, { group: "blue" }).greet({ name: "y" })).greeting).toBe("y");

  expect((await operate("/-/online")).status).toBe(200);
  await more(first, 20);
  isOver = true;
  await Promise.all(load);
  expect(failures).toEqual([]);
});

it("a server that is online again before the propagation is over keeps its connections", async () => {
  const { registration, server } = await startProvider(memory());
  const drain = vi.spyOn(server, "drainConnections");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  await registration.update({ offline: true });
  await registration.update({ offline: false });
  await vi.advanceTimersByTimeAsync(PROPAGATION_MS);
  expect(drain).not.toHaveBeenCalled();
  await registration.update({ offline: true });
  await vi.advanceTimersByTimeAsync(PROPAGATION_MS / 2);
  await registration.update({ offline: false });
  await registration.update({ offline: true });
  await vi.advanceTimersByTimeAsync(PROPAGATION_MS - 1);
  expect(drain).not.toHaveBeenCalled();
  await registration.update({ offline: true });
  await vi.advanceTimersByTimeAsync(1);
  expect(drain).toHaveBeenCalledOnce();
  await vi.advanceTimersByTimeAsync(PROPAGATION_MS);
  expect(drain).toHaveBeenCalledOnce();
  expect(() => registration.update({ offline: "no" as never })).toThrow('offline must be in [true,false], not "no"');
});
