/** The arenas: their servers, the call that they make, and their load generators, with which they are driven here. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Client, credentials } from "@grpc/grpc-js";
import { loadSync, type MethodDefinition } from "@grpc/proto-loader";
import { MissingPeer } from "../../test/interop/peer.ts";
import { installDebianPackages, outputOf, runProgram } from "../../test/interop/program.ts";
import { CACHE, goVersion, installGoProgram } from "../../test/support/go.ts";
import {
  bunServe,
  dubboGo,
  netHttp,
  nodeHttp,
  ownEntry,
  PROTOS,
  type SetUp,
  setUpCpp,
  setUpDubboGo,
  setUpDubboJava,
  setUpGrpcGo,
  setUpGrpcJava,
  setUpGrpcJs,
  setUpTonic,
} from "./servers.ts";

/** The result of a run of a generator. */
export interface Load {
  /** The calls that were answered as they should be. */
  readonly calls: number;
  /** The calls that were not. */
  readonly failed: number;
  readonly seconds: number;
}

/** Runs a generator for about so many seconds. `rate`: the calls/s of the run before, if there was one. */
export type Drive = (port: number, seconds: number, rate: number | undefined) => Promise<Load>;

export interface Arena {
  readonly title: string;
  /** The generator and its shape. */
  readonly shape: string;
  readonly servers: Readonly<Record<string, SetUp>>;
  /** Prepares the generator. Throws a {@link MissingPeer} if it is not available. `pinned`: the command that pins it to a CPU. */
  readonly generator: (pinned: readonly string[]) => Drive;
  /** Makes one call. Throws if its answer is wrong. */
  readonly verify: (port: number) => Promise<void>;
}

/** The name of triple-es in all arenas. */
export const ours = "triple-es";

const FOLDER = join(CACHE, "arena");
const DATASET = join(FOLDER, "dataset.json");
/** The message SumRequest{a=1, b=2} with the prefix of gRPC, and the number of bytes of its answer. */
const SUM_REQUEST = Buffer.from("000000000408011002", "hex");
const SUM_REPLY_BYTES = 7;
const HELLO = {
  request: {
    name: "a name",
    d: 4.55332,
    f: 232.3,
    b: true,
    n: 32,
    l: "444325235223",
    c1: "ofcouse",
    pets: [
      { name: "Bof the dog", color: "BLUE" },
      { name: "Kim the cat", color: "RED" },
    ],
  },
};
/** The counts of items of HttpArena, and their multipliers. */
const ITEMS = [
  [1, 3],
  [5, 7],
  [10, 2],
  [15, 5],
  [25, 4],
  [40, 8],
  [50, 6],
] as const;
const dataset = Array.from({ length: 50 }, (_, index) => ({
  id: index + 1,
  name: `Item ${index + 1} of the shelf`,
  category: ["electronics", "tools", "books"][index % 3],
  price: 300 + index,
  quantity: 1 + index,
  active: index % 2 === 0,
  tags: ["sale", "heavy-duty", "popular"].slice(index % 3),
  rating: { score: index, count: 50 + index },
}));

const grpcPeers: Readonly<Record<string, SetUp>> = {
  "grpc-go": setUpGrpcGo,
  tonic: setUpTonic,
  "grpc-c++": setUpCpp,
  "grpc-java": setUpGrpcJava,
  "dubbo-java": setUpDubboJava,
  "dubbo-go": setUpDubboGo,
  "grpc-js": setUpGrpcJs,
};

export const arenas: Readonly<Record<string, Arena>> = {
  "httparena-unary-grpc": {
    title: "HttpArena, unary-grpc: GetSum",
    shape: "h2load, 256 connections x 100 streams",
    servers: { [ours]: ownEntry("httparena/triple-es", [`DATASET_PATH=${DATASET}`]), ...grpcPeers },
    generator: (pinned) => {
      writeDataset();
      const body = file("sum.bin", SUM_REQUEST);
      const headers = ["-H", "content-type: application/grpc", "-H", "te: trailers"];
      const drive = h2load(pinned, ["-c", "256", "-m", "100", "-d", body, ...headers]);
      return async (port, ...rest) => {
        const { dataBytes, ...load } = await drive(
          [`http://127.0.0.1:${port}/benchmark.BenchmarkService/GetSum`],
          256 * 100,
          ...rest,
        );
        // h2load does not look at grpc-status, but the answer of an error has no message.
        if (dataBytes !== load.calls * SUM_REPLY_BYTES) throw new Error(`${load.calls} answers of ${dataBytes} bytes`);
        return load;
      };
    },
    verify: (port) =>
      callGrpc(port, PROTOS.benchmark, "benchmark.BenchmarkService", "GetSum", { a: 1, b: 2 }, { result: 3 }),
  },
  "httparena-json": {
    title: "HttpArena, json: GET /json/{count} with HTTP/1.1",
    shape: "h2load --h1 in place of gcannon, 512 connections that stay open",
    servers: {
      [ours]: ownEntry("httparena/triple-es", [`DATASET_PATH=${DATASET}`]),
      "node:http": nodeHttp(DATASET),
      "Bun.serve": bunServe(DATASET),
      "net/http": netHttp(DATASET),
    },
    generator: (pinned) => {
      writeDataset();
      const drive = h2load(pinned, ["--h1", "-c", "512", "-m", "1"]);
      return (port, ...rest) => {
        const uris = ITEMS.map(([count, m]) => `http://127.0.0.1:${port}/json/${count}?m=${m}\n`);
        return drive(["-i", file("uris.txt", uris.join(""))], 512, ...rest);
      };
    },
    async verify(port) {
      for (const [count, m] of ITEMS) {
        const response = await fetch(`http://127.0.0.1:${port}/json/${count}?m=${m}`);
        const items = dataset.slice(0, count).map((item) => ({ ...item, total: item.price * item.quantity * m }));
        compare(await response.json(), { items, count });
      }
    },
  },
  "grpc-bench": {
    title: "grpc_bench, complex_proto: SayHello",
    shape: "ghz, 50 connections, 1000 calls at a time",
    servers: { [ours]: ownEntry("grpc_bench/node_triple_es_bench", ["GRPC_SERVER_CPUS=1"]), ...grpcPeers },
    generator: (pinned) => {
      requireGo();
      const ghz = installGoProgram("github.com/bojand/ghz/cmd/ghz", "v0.121.0");
      const call = [`--proto=${PROTOS.helloworld}`, "--call=helloworld.Greeter.SayHello", "--insecure"];
      const templates = ["--disable-template-functions", "--disable-template-data"];
      const shape = ["--concurrency=1000", "--connections=50", "--data-file", file("payload", JSON.stringify(HELLO))];
      return async (port, seconds) => {
        const time = [`--duration=${seconds}s`, "--duration-stop=wait", "--format=json"];
        const args = [...call, ...templates, ...shape, ...time, `127.0.0.1:${port}`];
        const report = JSON.parse(await runProgram([...pinned, ghz, ...args])) as {
          count: number;
          total: number;
          statusCodeDistribution: Readonly<Record<string, number>>;
        };
        const { count, total, statusCodeDistribution } = report;
        const calls = statusCodeDistribution["OK"] ?? 0;
        if (calls === 0) throw new Error(JSON.stringify(statusCodeDistribution));
        return { calls, failed: count - calls, seconds: total / 1e9 };
      };
    },
    verify: (port) =>
      callGrpc(port, PROTOS.helloworld, "helloworld.Greeter", "SayHello", HELLO, { response: HELLO.request }),
  },
  "dubbo-go-benchmark": {
    title: "dubbo-go-benchmark, Triple: SayHello",
    shape: "dubbo-go's client, 20 goroutines, 5000 calls/s at most",
    servers: { [ours]: ownEntry("dubbo-go-benchmark/3.0/triple/server-triple-es"), ...grpcPeers },
    generator: (pinned) => {
      const { program } = dubboGo();
      return async (port, seconds) => {
        const shape = ["5000", "20", String(Math.ceil(seconds))];
        const start = performance.now();
        const calls = Number(await runProgram([...pinned, program, "stress", String(port), ...shape]));
        return { calls, failed: 0, seconds: (performance.now() - start) / 1_000 };
      };
    },
    verify: (port) =>
      callGrpc(
        port,
        PROTOS.api,
        "api.Greeter",
        "SayHello",
        { name: "laurence" },
        { name: "Hello laurence", id: "12345", age: 21 },
      ),
  },
};

type H2load = (
  target: readonly string[],
  atATime: number,
  seconds: number,
  rate: number | undefined,
) => Promise<Load & { readonly dataBytes: number }>;

/**
 * Prepares h2load. The arenas give it a time, after which it leaves calls that the server still answers. Here it makes a number
 * of calls, so that all that the server did is counted.
 */
function h2load(pinned: readonly string[], args: readonly string[]): H2load {
  installDebianPackages("nghttp2-client");
  if (outputOf("h2load", "--version") === undefined) throw new MissingPeer("there is no h2load on the PATH");
  return async (target, atATime, seconds, rate) => {
    const all = Math.max(atATime, Math.round((rate ?? 0) * seconds));
    const output = await runProgram([...pinned, "h2load", "-t", "1", ...args, "-n", String(all), ...target]);
    const number = (pattern: RegExp): number => Number(pattern.exec(output)?.[1]);
    const calls = number(/status codes: (\d+) 2xx/);
    if (!(calls > 0)) throw new Error(output.slice(-1_000));
    return {
      calls,
      failed: all - calls,
      seconds: calls / number(/, ([\d.]+) req\/s/),
      dataBytes: number(/\((\d+)\) data/),
    };
  };
}

/** Makes a unary call with grpc-js, and compares its response. */
async function callGrpc(
  port: number,
  proto: string,
  service: string,
  name: string,
  request: object,
  expected: object,
): Promise<void> {
  const definition = loadSync(proto, { keepCase: true, longs: String, enums: String })[service];
  const method = (definition as Readonly<Record<string, MethodDefinition<object, object>>>)[name];
  if (method === undefined) throw new Error(`there is no ${service}.${name}`);
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure());
  try {
    const response = await new Promise<object | undefined>((resolve, reject) => {
      const { path, requestSerialize, responseDeserialize } = method;
      const deadline = Date.now() + 10_000;
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, { deadline }, (error, value) =>
        error === null ? resolve(value) : reject(error),
      );
    });
    // 32-bit floats are compared as such.
    compare(JSON.parse(JSON.stringify(response), rounded), JSON.parse(JSON.stringify(expected), rounded));
  } finally {
    client.close();
  }
}

function rounded(_: string, value: unknown): unknown {
  return typeof value === "number" ? Math.fround(value) : value;
}

function compare(answer: unknown, expected: unknown): void {
  if (!isDeepStrictEqual(answer, expected)) throw new Error(`the answer is ${JSON.stringify(answer).slice(0, 500)}`);
}

function requireGo(): void {
  if (goVersion() === undefined) throw new MissingPeer("there is no go on the PATH");
}

/** Writes the dataset, which the entry for HttpArena reads in both profiles. */
function writeDataset(): void {
  file("dataset.json", JSON.stringify(dataset));
}

/** Writes a file for a generator or a server. Returns its path. */
function file(name: string, content: string | Buffer): string {
  mkdirSync(FOLDER, { recursive: true });
  const path = join(FOLDER, name);
  writeFileSync(path, content);
  return path;
}
