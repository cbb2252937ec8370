/** The demo: `npm run demo`. */
import { helpText, parseOptions } from "./options.ts";
import { serve } from "./serve.ts";
import { show } from "./show.ts";

try {
  const { help, serve: keepServing, port } = parseOptions(process.argv.slice(2));
  if (help) process.stdout.write(helpText);
  else if (keepServing) await serve(port);
  else if (!(await show())) process.exitCode = 1;
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
