/**
 * Attacks on a server, and their cost: `npm run bench:attack -- decode`, `memory`, `http2`, `neighbours` or `turns`,
 * with their options.
 */
const NAMES = ["decode", "memory", "neighbours", "http2", "turns"];
const [name = ""] = process.argv.splice(2, 1);
if (!NAMES.includes(name)) {
  console.error(`usage: npm run bench:attack -- ${NAMES.join(" | ")}`);
  process.exit(2);
}
await import(`./${name}.ts`);
