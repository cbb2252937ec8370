/** The application of `hero.controller.ts` with the transport of Nest, and with one changed line. */
import { join } from "node:path";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import type { INestMicroservice } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { type MicroserviceOptions, Transport } from "@nestjs/microservices";
import { TripleServer } from "triple-es-nest";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { freePort } from "../support/port.ts";
import { events, HeroModule } from "./hero.controller.ts";

const options = {
  package: ["hero.v1"],
  protoPath: join(import.meta.dirname, "hero.proto"),
  loader: { longs: String, enums: String, oneofs: true },
};

const STRATEGIES: readonly (readonly [string, (url: string) => MicroserviceOptions])[] = [
  ["Transport.GRPC", (url) => ({ transport: Transport.GRPC, options: { ...options, url } })],
  ["TripleServer", (url) => ({ strategy: new TripleServer({ ...options, url }) })],
];

// biome-ignore lint/suspicious/noExplicitAny: clients of grpc-js have no types
type Client = any;

describe.each(STRATEGIES)("an application with %s", (name, strategy) => {
  let app: INestMicroservice;
  let client: Client;
  let url: string;

  beforeAll(async () => {
    url = `127.0.0.1:${await freePort()}`;
    app = await NestFactory.createMicroservice<MicroserviceOptions>(HeroModule, { ...strategy(url), logger: false });
    await app.listen();
    // biome-ignore lint/suspicious/noExplicitAny: the same
    const { hero } = grpc.loadPackageDefinition(loadSync(options.protoPath, options.loader)) as any;
    client = new hero.v1.HeroService(url, grpc.credentials.createInsecure());
  });
  afterAll(async () => {
    client.close();
    await app.close();
  });
  beforeEach(() => void events.splice(0));

  const unary = (method: string, request: object, metadata = new grpc.Metadata()) => {
    let headers: grpc.Metadata | undefined;
    return new Promise<{ value?: unknown; code?: number; details?: string; headers?: grpc.Metadata }>((resolve) => {
      const call = client[method](request, metadata, (error: grpc.ServiceError | null, value: unknown) =>
        resolve(error ? { code: error.code, details: error.details } : { value, ...(headers && { headers }) }),
      );
      call.on("metadata", (received: grpc.Metadata) => (headers = received));
    });
  };
  const read = async (call: AsyncIterable<unknown>): Promise<unknown[]> => {
    const values: unknown[] = [];
    try {
      for await (const value of call) values.push(value);
    } catch (error) {
      const { code, details } = error as grpc.ServiceError;
      values.push({ code, details });
    }
    return values;
  };
  const write = (call: Client, ids: readonly string[]): Client => {
    for (const id of ids) call.write({ id });
    call.end();
    return call;
  };

  const john = {
    id: "1",
    names: { firstName: "John" },
    kind: "FLYING",
    powers: { speed: 3 },
    city: "Rome",
    home: "city",
    age: 0,
    _age: "age",
  };
  const doe = { id: "2", team: { name: "A" }, home: "team", badge: Buffer.from("ab") };

  it("answers with messages in the shape of the loader", async () => {
    expect((await unary("findOne", { id: "1" })).value).toEqual(john);
    expect((await unary("findOne", { id: "2" })).value).toEqual(doe);
    expect(await read(client.listHeroes({}))).toEqual([john, doe]);
  });

  it("passes metadata to handlers, and sends what they send", async () => {
    const metadata = new grpc.Metadata();
    metadata.set("colour", "blue");
    metadata.set("raw-bin", Buffer.from("x"));
    const { headers } = await unary("findOne", { id: "1" }, metadata);
    expect(headers?.get("colour")).toEqual(["blue"]);
    expect(headers?.get("raw-bin")).toEqual([Buffer.from("x")]);
    expect(headers?.get("path")).toEqual(["/hero.v1.HeroService/FindOne"]);
  });

  it("applies guards, pipes, filters and interceptors", async () => {
    const wrong = new grpc.Metadata();
    wrong.set("token", "wrong");
    expect(await unary("findOne", { id: "1" }, wrong)).toEqual({ code: 2, details: "Forbidden resource" });
    expect(await unary("findOne", { id: "0" })).toEqual({ code: 3, details: "id must not be 0" });
    expect(await unary("findOne", { id: "9" })).toEqual({ code: 5, details: "there is no hero 9" });
    expect(await unary("findOne", { id: "3" })).toEqual({ code: 14, details: "the heroes are busy" });
    expect(await unary("findOne", { id: "4" })).toEqual({ code: 2, details: "Internal server error" });
    expect(await read(client.listHeroes({ id: "5" }))).toEqual([john, { code: 2, details: "no more" }]);
    events.splice(0);
    await unary("findOne", { id: "1" });
    await expect.poll(() => events).toEqual(["findOne completed"]);
  });

  it("passes streams to handlers as observables", async () => {
    expect(await read(write(client.findMany(), ["2", "1"]))).toEqual([doe, john]);
    const total = new Promise((resolve) => {
      write(
        client.countPowers((_error: unknown, value: unknown) => resolve(value)),
        ["1", "2", "3"],
      );
    });
    expect(await total).toEqual({ total: 3 });
  });

  it("completes the observable of a client that leaves", async () => {
    const call = client.findMany();
    call.write({ id: "1" });
    const values: unknown[] = [];
    for await (const value of call) {
      values.push(value);
      break;
    }
    call.cancel();
    expect(values).toEqual([john]);
    await expect.poll(() => events).toContain("ids completed");
  });

  it("passes streams to handlers as duplex streams", async () => {
    expect(await read(write(client.echoMany(), ["1", "2"]))).toEqual([{ id: "1" }, { id: "2" }]);
    const total = new Promise((resolve) => {
      write(
        client.sumIds((_error: unknown, value: unknown) => resolve(value)),
        ["1", "2", "3"],
      );
    });
    expect(await total).toEqual({ total: 6 });
  });

  it("sends the error of a duplex stream", async () => {
    const values = await read(write(client.echoMany(), ["1", "0"]));
    expect(values.at(-1)).toEqual({ code: 9, details: "enough" });
    await expect.poll(() => events).toContain("echoMany ended");
  });

  it("answers `internal` if a message cannot be encoded", async () => {
    expect(await unary("findOne", { id: "10" })).toMatchObject({ code: 13 });
  });

  it.runIf(name === "TripleServer")("unsubscribes from an observable whose messages cannot be sent", async () => {
    const [first, , failure] = await read(client.listHeroes({ id: "6" }));
    expect([first, failure]).toEqual([{ id: "1" }, { code: 13, details: "internal server error" }]);
    expect(events).toContain("unsubscribed");
  });

  it("sends the metadata of an error, with its details", async () => {
    const metadata = new grpc.Metadata();
    metadata.set("colour", "blue");
    const { code, metadata: sent } = await new Promise<grpc.ServiceError>((resolve) =>
      client.findOne({ id: "8" }, metadata, resolve),
    );
    expect([code, sent.get("colour")]).toEqual([9, ["blue"]]);
    const [details] = sent.get("grpc-status-details-bin");
    expect(details?.toString("hex")).toContain("1a030a0161");
  });

  it.runIf(name === "TripleServer")("fails a call that its handler destroys", async () => {
    const values = await read(write(client.echoMany(), ["1", "9"]));
    expect(values.at(-1)).toEqual({ code: 2, details: "the service failed to handle the call" });
  });

  it.runIf(name === "TripleServer")("answers an error whose metadata is no metadata", async () => {
    const error = await new Promise((resolve) => client.findOne({ id: "7" }, resolve));
    expect(error).toMatchObject({ code: 5, details: "not found" });
  });

  it.runIf(name === "TripleServer")("answers over HTTP RPC and gRPC-Web too", async () => {
    const post = async (body: string, type = "application/json") =>
      await fetch(`http://${url}/hero.v1.HeroService/FindOne`, {
        method: "POST",
        headers: { "content-type": type },
        body,
      });
    const found = await post('[{"id":"1"}]');
    expect([found.status, await found.json()]).toEqual([
      200,
      { id: "1", names: { firstName: "John" }, kind: "FLYING", powers: { speed: 3 }, city: "Rome", age: 0 },
    ]);
    const failed = await post('[{"id":"9"}]');
    expect([failed.status, await failed.json()]).toMatchObject([404, { code: "not_found" }]);
    const web = await post("\0\0\0\0\x02\x08\x02", "application/grpc-web+proto");
    expect(Buffer.from(await web.arrayBuffer()).toString("latin1")).toContain("grpc-status: 0");
  });
});
