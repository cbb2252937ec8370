/** The time is proportional to the size of a file. */
import { expect, it } from "vitest";
import { compile, requestFor, run } from "./support/protos.ts";

it("2,000 rpcs in one file are generated in seconds", () => {
  const numbers = Array.from({ length: 2_000 }, (_, i) => i);
  const rpcs = numbers.map((i) => `// Comment ${i}.\nrpc R${i}(I${i}) returns (O${i});`);
  const messages = numbers.map((i) => `message I${i} { string text = 1; }\nmessage O${i} { string text = 1; }`);
  const request = requestFor(
    compile({ "a.proto": `syntax = "proto3";\nservice S {\n${rpcs.join("\n")}\n}\n${messages.join("\n")}` }),
  );
  const start = process.cpuUsage();
  expect(run(request).get("a_triple.ts")).toContain("/S/R1999");
  // The CPU time does not depend on the load of the machine. It is less than a second on a laptop; individual look-ups in the
  // plugin kit would take minutes.
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1_000).toBeLessThan(15_000);
});
