/** The plots of the benchmarks. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Figures, plotsOf } from "../bench/figures.ts";
import { ROOT, readDocument } from "./support/documents.ts";

const plots = plotsOf(JSON.parse(readDocument("bench/figures.json")) as Figures);

it("the committed plots are drawn from the committed figures", () => {
  expect(readdirSync(join(ROOT, "bench/plots")).sort()).toEqual([...plots.keys()].sort());
  for (const [name, plot] of plots) expect(readDocument(`bench/plots/${name}`), name).toBe(plot);
});

it("the page of benchmarks shows each plot", () => {
  const page = readDocument("bench/README.md");
  for (const name of plots.keys()) expect(page).toContain(`](plots/${name})`);
});
