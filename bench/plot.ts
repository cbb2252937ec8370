/** Bar plots as SVG: a bar for each row, with the median as its length and a line from the minimum to the maximum. */
import type { Spread } from "./contests/measurement.ts";

export interface Plot {
  readonly title: string;
  readonly unit: string;
  /** `ratio` is that of triple-es to the row. The row without one is triple-es. */
  readonly rows: readonly { readonly name: string; readonly value: Spread; readonly ratio: number | undefined }[];
  /** Lines below the bars, such as versions. */
  readonly notes: readonly string[];
}

const WIDTH = 720;
const LEFT = 140;
const RIGHT = 130;
const TOP = 64;
const ROW = 30;

/** Draws a plot. It has its own colours on a light and on a dark screen. */
export function plotOf({ title, unit, rows, notes }: Plot): string {
  const largest = Math.max(...rows.map(({ value }) => value.max));
  const x = (value: number): string => (LEFT + ((WIDTH - LEFT - RIGHT) * value) / largest).toFixed(1);
  const bottom = TOP + rows.length * ROW;
  const height = bottom + 16 + notes.length * 18;
  const bars = rows.flatMap(({ name, value: { median, min, max }, ratio }, index) => {
    const y = TOP + index * ROW;
    return [
      `<text class="${ratio === undefined ? "name" : "peer"}" x="${LEFT - 10}" y="${y + 16}" text-anchor="end">${escaped(name)}</text>`,
      `<rect class="${ratio === undefined ? "ours" : "bar"}" x="${LEFT}" y="${y}" width="${(Number(x(median)) - LEFT).toFixed(1)}" height="22" rx="3"/>`,
      `<path class="range" d="M${x(min)} ${y + 11}H${x(max)}"/>`,
      `<text x="${Number(x(Math.max(median, max))) + 8}" y="${y + 16}">${median.toLocaleString("en")}${ratio === undefined ? "" : ` <tspan class="soft">${Number(ratio.toPrecision(2))} x</tspan>`}</text>`,
    ];
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">
<style>
:root{--paper:#fff;--line:#d0d0d4;--text:#24292f;--soft:#67676c;--bar:#b9bcc4;--brand:#3451b2}
@media (prefers-color-scheme:dark){:root{--paper:#1b1b1f;--line:#4a4d53;--text:#e8e8ea;--soft:#a8a8ad;--bar:#565a64;--brand:#a8b1ff}}
text{font:14px system-ui,"Segoe UI",Roboto,Helvetica,Arial,sans-serif;fill:var(--text)}
.name,.title{font-weight:600}.title{font-size:15px}.soft{font-size:12px;fill:var(--soft)}
.paper{fill:var(--paper);stroke:var(--line)}.bar{fill:var(--bar)}.ours{fill:var(--brand)}.range{stroke:var(--text);stroke-width:1.5}
</style>
<rect class="paper" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="8"/>
<text class="title" x="16" y="26">${escaped(title)}</text>
<text class="soft" x="16" y="46">${escaped(unit)}; median and range of the rounds; x: triple / peer</text>
${bars.join("\n")}
${notes.map((note, index) => `<text class="soft" x="16" y="${bottom + 14 + index * 18}">${escaped(note)}</text>`).join("\n")}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
