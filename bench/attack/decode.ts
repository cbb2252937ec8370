/**
 * The cost of decoding a request of 4 MiB, for each format and for bodies that are made to be expensive: the longest block of
 * the event loop, and the peak of live memory in multiples of the limit on a message.
 *
 *     npm run bench:attack -- decode [--only TEXT] [--all] [--echo]
 *
 * Prints the worst body of each format, or all of them. With `--echo` handlers return what they have received.
 */
import { parseArgs } from "node:util";
import { Child } from "../child.ts";
import { ATTACKS } from "./bodies.ts";
import type { Cost } from "./decoder.ts";

const MAX_MESSAGE_BYTES = 4 * 2 ** 20;

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
  const memory = (liveBytes / MAX_MESSAGE_BYTES).toFixed(1);
  const size = (bytes / 2 ** 20).toFixed(1);
  console.log(
    `${format.padEnd(28)} ${name.padEnd(34)} ${size.padStart(4)} MiB ${blockMs.toFixed(0).padStart(6)} ms ${memory.padStart(6)} x ${totalMs.toFixed(0).padStart(6)} ms  ${outcome.slice(0, 90)}`,
  );
}
