/** Makes every call from the current platform, and prints the results as a line of JSON. */
import { argv } from "node:process";
import { type Calls, calls } from "./calls.ts";

const baseUrl = argv[2] ?? "";
const given: Record<string, unknown> = {};
for (const codec of ["json", "proto"] as const) {
  for (const name of Object.keys(calls) as (keyof Calls)[]) {
    given[`${name} in ${codec}`] = await calls[name](baseUrl, codec);
  }
}
console.log(JSON.stringify(given));
