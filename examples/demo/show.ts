/** Runs the scenes against a real server, and reports which answers were right. */
import { isDeepStrictEqual } from "node:util";
import { createServer, createTransport } from "triple-es/node";
import { createGreetServiceClient, GreetServiceDef } from "../gen/greet/v1/greet_triple.ts";
import { readCurlLine, runCurl } from "./curl.ts";
import { recordHttp1 } from "./http1-recorder.ts";
import { recordHttp2 } from "./http2-recorder.ts";
import { bad, good, quiet, title } from "./paint.ts";
import type { Recorder } from "./recording.ts";
import { type Scene, scenes } from "./scenes.ts";
import { greetService } from "./service.ts";

type Outcome = "right" | "wrong" | "skipped";

/** Returns true if every answer was right. */
export async function show(): Promise<boolean> {
  const server = await createServer().add(GreetServiceDef, greetService).listen({ port: 0, host: "127.0.0.1" });
  const { port } = server.address;
  const recorders = { "1.1": await recordHttp1(port), "2": await recordHttp2(port) };
  console.log(`\nproto/greet/v1/greet.proto became examples/gen/greet/v1/greet_triple.ts, by buf generate.`);
  console.log("A is HTTP RPC, for unary calls; B is gRPC, for all four kinds.");
  console.log(`The service listens on 127.0.0.1:${port}, for HTTP/1.1 and HTTP/2. A proxy notes what passes:`);
  console.log(`${quiet("> sent by the client, < received from the server")}\n`);

  const outcomes: Outcome[] = [];
  try {
    for (const [index, scene] of scenes.entries()) {
      console.log(title(`${index + 1}. ${scene.title}`));
      outcomes.push(await play(scene, recorders));
    }
    console.log(title(`${scenes.length + 1}. The guide's curl line`));
    outcomes.push(await playCurl(`localhost:${port}`));
  } finally {
    await Promise.all([recorders["1.1"].close(), recorders["2"].close()]);
    await server.close({ graceMs: 1_000 });
  }
  return summarize(outcomes);
}

async function play(scene: Scene, recorders: Record<"1.1" | "2", Recorder>): Promise<Outcome> {
  const { protocol, httpVersion = protocol === "grpc" ? "2" : "1.1" } = scene.transport;
  const recorder = recorders[httpVersion];
  const transport = createTransport({ ...scene.transport, baseUrl: recorder.baseUrl });
  try {
    const answer = await scene.call(createGreetServiceClient(transport)).catch((error) => String(error));
    for (const note of await recorder.take()) console.log(note);
    return judge(answer, scene.answer);
  } finally {
    await transport.close();
  }
}

async function playCurl(address: string): Promise<Outcome> {
  const line = await readCurlLine(address);
  console.log(`  $ ${line}`);
  const answer = await runCurl(line).catch((error) => String(error));
  if (answer !== undefined) return judge(answer, `{"greeting":"Hello, Dubbo!"}`);
  console.log(quiet("  skipped: there is no curl on this machine\n"));
  return "skipped";
}

function judge(answer: unknown, right: unknown): Outcome {
  const text = typeof answer === "string" ? answer : JSON.stringify(answer);
  if (isDeepStrictEqual(answer, right)) {
    console.log(`  ${good("right")}  ${text}\n`);
    return "right";
  }
  console.log(`  ${bad("WRONG")}  ${text}\n         expected ${JSON.stringify(right)}\n`);
  return "wrong";
}

function summarize(outcomes: readonly Outcome[]): boolean {
  const count = (outcome: Outcome): number => outcomes.filter((one) => one === outcome).length;
  const skipped = count("skipped") > 0 ? `, ${count("skipped")} skipped` : "";
  console.log(title(`${count("right")} answers right, ${count("wrong")} wrong${skipped}`));
  return count("wrong") === 0;
}
