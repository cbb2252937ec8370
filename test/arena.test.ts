/** The program that runs public benchmarks of servers; the runs themselves are for `npm run bench:arena`. */
import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { ROOT } from "./support/documents.ts";

function bench(...args: string[]) {
  const flags = ["--conditions=triple-source", "--import", "tsx", "bench/arena/main.ts"];
  return spawnSync(process.execPath, [...flags, ...args], { cwd: ROOT, encoding: "utf8" });
}

it("--help lists the arenas and servers without building one", () => {
  const { status, stdout } = bench("--help");
  expect(status).toBe(0);
  expect(stdout).toContain("arenas:  httparena-unary-grpc, httparena-json, grpc-bench, dubbo-go-benchmark");
  expect(stdout).toContain("servers: triple-es, grpc-go, tonic, grpc-c++, grpc-java, dubbo-java, dubbo-go, grpc-js");
});

it("an unknown arena and a count that is not a number are refused", () => {
  for (const [args, message] of [
    [["--only", "colosseum"], "there is no arena or server colosseum"],
    [["--rounds", "many"], "--rounds wants a positive number"],
  ] as const) {
    const { status, stderr } = bench(...args);
    expect(status).toBe(1);
    expect(stderr).toContain(message);
  }
});
