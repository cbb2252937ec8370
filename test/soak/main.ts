/**
 * Makes a million calls, reads a hundred thousand streams and cancels a hundred thousand calls, and tells whether
 * memory stays as it is.
 *
 *     npm run soak [-- --unary=1000000 --streams=100000 --cancelled=100000 --looks=20]
 */
import { parseArgs } from "node:util";
import { fitSlope, isFlat, SMALLEST_LEAK_BYTES } from "./slope.ts";
import { type Look, runSoak, type Soak } from "./soak.ts";

const MIB = 1024 * 1024;
/** Limit on the growth of a process's memory, relative to the middle of a phase. */
const MAX_RESIDENT_GROWTH_BYTES = 64 * MIB;

const { values } = parseArgs({
  options: {
    unary: { type: "string", default: "1000000" },
    streams: { type: "string", default: "100000" },
    cancelled: { type: "string", default: "100000" },
    looks: { type: "string", default: "20" },
    server: { type: "string" },
  },
});
const mib = (bytes: number): string => (bytes / MIB).toFixed(1).padStart(7);

console.log(`node ${process.version}; memory after garbage collection, in MiB: held, resident`);
console.log("phase          calls     client          server");
const soak = await runSoak({
  unaryCalls: Number(values.unary),
  streams: Number(values.streams),
  cancelledCalls: Number(values.cancelled),
  looks: Number(values.looks),
  server: values.server,
  onLook: (phase, { calls, client, server }) => {
    const columns = [client, server].map(({ heldBytes, residentBytes }) => mib(heldBytes) + mib(residentBytes));
    console.log(phase.padEnd(9), String(calls).padStart(10), columns.join("  "));
  },
});

/** Evaluates one process in one phase by the second half of its samples, because the first half is warm-up. */
function judge(phase: keyof Soak, side: "client" | "server"): boolean {
  const half = soak[phase].slice(soak[phase].length / 2);
  const slope = fitSlope(half.map((look) => ({ calls: look.calls, bytes: look[side].heldBytes })));
  const residents = half.map((look: Look) => look[side].residentBytes);
  const growth = Math.max(...residents) - (residents[0] ?? 0);
  const flat = isFlat(slope) && growth < MAX_RESIDENT_GROWTH_BYTES;
  console.log(
    `${phase}, ${side}: ${slope.bytesPerCall.toFixed(2)} ± ${slope.margin.toFixed(2)} bytes held per call,`,
    `resident +${mib(growth).trim()} MiB: ${flat ? "flat" : "NOT FLAT"}`,
  );
  return flat;
}

console.log(`flat: less than ${SMALLEST_LEAK_BYTES} bytes a call, with a confidence of 95 %`);
const verdicts = (["unary", "streams", "cancelled"] as const).flatMap((phase) => [
  judge(phase, "client"),
  judge(phase, "server"),
]);
process.exitCode = verdicts.includes(false) ? 1 : 0;
