/**
 * The cost of decoding a request of at most 4 MiB, for each format and for bodies that are made to be expensive, at the largest
 * size that the limit on values accepts: the longest block of the event loop in CPU time, and the peak of live memory, also as
 * a part of what a body may take, which is 16 times its size and 16 MiB.
 *
 *     npm run bench:attack -- decode [--only TEXT] [--all] [--echo]
 *
 * Prints the worst body of each format, or all of them. With `--echo` handlers return what they have received.
 */
import { parseArgs } from "node:util";
import { Child } from "../child.ts";
import { ATTACKS } from "./bodies.ts";
import type { Cost } from "./decoder.ts";

const MIB = 2 ** 20;

const { values } = parseArgs({
  options: {
    only: { type: "string", default: "" },
    all: { type: "boolean", default: false },
    echo: { type: "boolean", default: false },
  },
});

interface Row extends Cost {
  readonly format: string;
  readonly name: string;
}

const rows: Row[] = [];
const chosen = ATTACKS.filter(({ format, name }) => `${format}: ${name}`.includes(values.only));
for (const format of new Set(chosen.map((attack) => attack.format))) {
  const child = await Child.start(new URL("decoder.ts", import.meta.url));
  for (const attack of chosen.filter((one) => one.format === format)) {
    const cost = await child.ask<Cost>("costOf", [ATTACKS.indexOf(attack), values.echo]);
    rows.push({ format, name: attack.name, ...cost });
    if (values.all) print(rows.at(-1) as Row);
  }
  await child.stop();
}
if (!values.all) {
  for (const format of new Set(rows.map((row) => row.format))) {
    const own = rows.filter((row) => row.format === format);
    print(own.reduce((worst, row) => (row.blockMs > worst.blockMs ? row : worst)));
    print(own.reduce((worst, row) => (row.liveBytes > worst.liveBytes ? row : worst)));
  }
}

function print({ format, name, bytes, blockMs, liveBytes, totalMs, outcome }: Row): void {
  const memory = (liveBytes / MIB).toFixed(1);
  const part = (liveBytes / (16 * bytes + 16 * MIB)).toFixed(2);
  const size = (bytes / MIB).toFixed(2);
  console.log(
    `${format.padEnd(28)} ${name.padEnd(34)} ${size.padStart(5)} MiB ${blockMs.toFixed(0).padStart(5)} ms ${memory.padStart(6)} MiB ${part.padStart(5)} ${totalMs.toFixed(0).padStart(6)} ms  ${outcome.slice(0, 90)}`,
  );
}
