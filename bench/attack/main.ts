/**
 * Attacks on a server, and their cost: `npm run bench:attack -- decode`, with its options.
 */
const NAMES = ["decode"];
const [name = ""] = process.argv.splice(2, 1);
if (!NAMES.includes(name)) {
  console.error(`usage: npm run bench:attack -- ${NAMES.join(" | ")}`);
  process.exit(2);
}
await import(`./${name}.ts`);
