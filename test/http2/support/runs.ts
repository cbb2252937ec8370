/** How often properties are tried: `HTTP2_RUNS` times as often as in a normal run, for a night. */
const FACTOR = Number(process.env["HTTP2_RUNS"] ?? 1);

export function runs(normal: number): number {
  return Math.ceil(normal * FACTOR);
}
