/** The plots of the benchmarks. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Figures as ArenaFigures, plotsOf as arenaPlotsOf } from "../bench/arena/figures.ts";
import { type Figures, plotsOf } from "../bench/figures.ts";
import { ROOT, readDocument } from "./support/documents.ts";

describe.each([
  ["bench", "", plotsOf(JSON.parse(readDocument("bench/figures.json")) as Figures)],
  ["bench/arena", "arena/", arenaPlotsOf(JSON.parse(readDocument("bench/arena/figures.json")) as ArenaFigures)],
])("%s", (folder, prefix, plots) => {
  it("the committed plots are drawn from the committed figures", () => {
    expect(readdirSync(join(ROOT, folder, "plots")).sort()).toEqual([...plots.keys()].sort());
    for (const [name, plot] of plots) expect(readDocument(`${folder}/plots/${name}`), name).toBe(plot);
  });

  it("the page of benchmarks shows each plot", () => {
    const page = readDocument("bench/README.md");
    for (const name of plots.keys()) expect(page).toContain(`](${prefix}plots/${name})`);
  });
});
