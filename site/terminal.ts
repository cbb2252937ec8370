/**
 * The animated terminal of the demo. `site/demo.txt` is the output of `npm run --silent demo`, and `npm run generate` draws
 * `docs/demo.svg` from it: all lines, with a pause after each answer.
 */

/** Lines that the terminal shows at once. */
const ROWS = 22;
const LINE_PX = 18;
const MARGIN_PX = 16;
const BAR_PX = 30;
const WIDTH_PX = 920;
const HEIGHT_PX = BAR_PX + ROWS * LINE_PX + 2 * MARGIN_PX;

const LINE_SECONDS = 0.06;
const START_SECONDS = 1;
const ANSWER_SECONDS = 2;
const END_SECONDS = 4;

/** The colours of lines by their starts, as the demo prints them on a terminal. */
const STYLES: readonly (readonly [RegExp, string])[] = [
  [/^ {2}>/, "sent"],
  [/^ {2}</, "received"],
  [/^\d+[. ]/, "title"],
  [/^ {2}right/, "right"],
];

/** The output of the demo without what differs between runs, releases and versions of Node. */
export function withoutVariables(output: string): string {
  return output
    .trim()
    .replaceAll(/\b(127\.0\.0\.1|localhost):\d+/g, "$1:8080")
    .replaceAll(/(triple-es\/)\d+\.\d+\.\d+\S*/g, "$1x.y.z")
    .replaceAll(/^.*< date: .*\n/gm, "")
    .replaceAll(/(?<=grpc-timeout: )\d+m/g, "200m")
    .replaceAll(/, ?zstd/g, "");
}

/** Draws the output of the demo. */
export function terminalOf(output: string): string {
  const lines = ["$ npm run demo", "", ...withoutVariables(output).split("\n")];
  const steps: { readonly at: number; readonly row: number }[] = [];
  let seconds = 0;
  for (const [index, line] of lines.entries()) {
    steps.push({ at: seconds, row: index + 1 });
    seconds += styleOf(line) === "right" ? ANSWER_SECONDS : index === 0 ? START_SECONDS : LINE_SECONDS;
  }
  const end = seconds + END_SECONDS;
  const shift = (row: number): string => `transform:translateY(${(ROWS - row) * LINE_PX}px)`;
  const frames = steps.map(({ at, row }) => `${((100 * at) / end).toFixed(2)}%{${shift(row)}}`);
  const firstAnswer = lines.findIndex((line) => styleOf(line) === "right") + 1;
  const top = BAR_PX + MARGIN_PX;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH_PX} ${HEIGHT_PX}" role="img" aria-label="The output of npm run demo">
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre;fill:#d0d4dc}
.sent{fill:#6cc7d9}.received{fill:#e2c374}.title{font-weight:bold;fill:#ffffff}.right{fill:#8fd18b}
.lines{${shift(firstAnswer)}}
@media (prefers-reduced-motion:no-preference){.lines{animation:demo ${end.toFixed(2)}s step-end infinite}}
@keyframes demo{${frames.join("")}}
</style>
<rect width="${WIDTH_PX}" height="${HEIGHT_PX}" rx="8" fill="#1e2127"/>
<circle cx="20" cy="16" r="6" fill="#e0635b"/><circle cx="40" cy="16" r="6" fill="#e2c374"/><circle cx="60" cy="16" r="6" fill="#8fd18b"/>
<clipPath id="rows"><rect width="${WIDTH_PX}" height="${ROWS * LINE_PX}"/></clipPath>
<g transform="translate(0 ${top})" clip-path="url(#rows)"><g class="lines">
${lines.map(textOf).join("\n")}
</g></g>
</svg>
`;
}

function styleOf(line: string): string | undefined {
  return STYLES.find(([pattern]) => pattern.test(line))?.[1];
}

function textOf(line: string, index: number): string {
  const style = styleOf(line);
  const text = line.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const attributes = style === undefined ? "" : ` class="${style}"`;
  return `<text x="${MARGIN_PX}" y="${(index + 1) * LINE_PX - 5}" xml:space="preserve"${attributes}>${text}</text>`;
}
