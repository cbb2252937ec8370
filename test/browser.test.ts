/**
 * Chromium: pages of another origin call with a client of triple-es or with a form, and pages of the server's origin with a
 * form.
 */
import { once } from "node:events";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "esbuild";
import type { Browser } from "playwright-core";
import { Code, createRouter, RpcError } from "triple-es";
import { type NodeHandler, nodeHandler } from "triple-es/node";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { GreetServiceDef } from "../examples/gen/greet/v1/greet_triple.ts";
import { EXECUTABLE, launchBrowser } from "./support/chromium.ts";
import { ROOT } from "./support/documents.ts";
import { greeter, startServer } from "./support/server.ts";

const hasChromium = existsSync(EXECUTABLE);
let browser: Browser | undefined;
beforeAll(async () => {
  if (hasChromium) browser = await launchBrowser();
});
afterAll(() => browser?.close());

/** Calls the server whose address follows `#`, and sets the result as the text of the page. */
const CLIENT = `
import { RpcError } from "triple-es";
import { createTransport } from "triple-es/fetch";
import { createGreetServiceClient } from "./examples/gen/greet/v1/greet_triple.ts";

const greeter = createGreetServiceClient(createTransport({ baseUrl: location.hash.slice(1), credentials: "include" }));
const told: string[] = [];
const options = { headers: { "x-mine-bin": Uint8Array.of(255), "x-mine": "1" }, onTrailers: (fields: object) => told.push(...[...fields].map(String)) };
try {
  told.push((await greeter.greet({ name: "browser" }, options)).greeting);
  await greeter.greet({ name: "" });
} catch (error) {
  told.push(error instanceof RpcError ? error.message : String(error));
}
document.body.textContent = told.join(" | ");
`;

const FORM = `
const form = document.createElement("form");
form.method = "post";
form.enctype = "ENCTYPE";
form.action = location.hash.slice(1) + "/greet.v1.GreetService/Greet";
form.innerHTML = '<input name="name" value="forged">';
document.body.append(form);
form.submit();
`;

/**
 * Opens a page of a separate site, whose script calls the server or submits a form to it. Resolves when the page, or the answer to the
 * form, has the text. `api` answers the requests that the site does not.
 */
async function browse(
  text: string,
  script: string,
  baseUrl: (origin: string) => Promise<string>,
  api?: NodeHandler,
): Promise<void> {
  const page = `<!doctype html><meta charset="utf-8"><body><script type="module">${script}</script>`;
  const site = createServer((request, response) => {
    if (request.method === "POST" && api !== undefined) api(request, response);
    else response.setHeader("content-type", "text/html").end(page);
  });
  site.listen(0, "127.0.0.1");
  await once(site, "listening");
  const opened = await (browser as Browser).newPage();
  onTestFinished(async () => {
    await opened.close();
    site.closeAllConnections();
    site.close();
  });
  // A different host name, because all ports of a host are one site.
  const origin = `http://localhost:${(site.address() as AddressInfo).port}`;
  await opened.goto(`${origin}/#${await baseUrl(origin)}`);
  await opened.locator("body", { hasText: text }).waitFor();
}

describe.skipIf(!hasChromium)("a page of another origin", () => {
  const withTrailer: typeof greeter.greet = ({ name }, context) => {
    const mine = context.requestHeaders.getBinary("x-mine-bin")?.[0];
    context.responseTrailers.set("x-trailing", `${mine} ${context.requestHeaders.get("x-mine")}`);
    if (name === "") throw new RpcError(Code.DataLoss, "the name is empty");
    return { greeting: `Hello, ${name}!` };
  };

  async function client(): Promise<string> {
    const stdin = { contents: CLIENT, resolveDir: ROOT, loader: "ts" as const };
    const conditions = ["triple-source"];
    const { outputFiles } = await build({
      stdin,
      bundle: true,
      format: "esm",
      conditions,
      write: false,
      outdir: "out",
    });
    return outputFiles[0]?.text ?? "";
  }

  it("calls from an origin that cors allows, and reads messages, trailers and errors", async () => {
    const text = "x-trailing,255 1 | Hello, browser! | [data_loss] the name is empty";
    await browse(text, await client(), async (origin) => {
      const { baseUrl } = await startServer({ greet: withTrailer }, { cors: { origins: [origin], credentials: true } });
      return baseUrl;
    });
  });

  it("cannot call from another origin", async () => {
    const called: string[] = [];
    await browse("[unavailable] cannot reach", await client(), async () => {
      const greet: typeof greeter.greet = ({ name }) => ({ greeting: String(called.push(name)) });
      return (await startServer({ greet }, { cors: { origins: ["https://app.example.com"] } })).baseUrl;
    });
    expect(called).toEqual([]);
  });
});

describe.skipIf(!hasChromium).each(["application/x-www-form-urlencoded", "multipart/form-data", "text/plain"])(
  "a form in %s",
  (type) => {
    const script = FORM.replace("ENCTYPE", type);

    it("is refused from a page of another site, without a call of the method", async () => {
      const called: string[] = [];
      const text = "is refused from pages of other sites (sec-fetch-site: cross-site)";
      await browse(text, script, async () => {
        const greet: typeof greeter.greet = ({ name }) => ({ greeting: String(called.push(name)) });
        return (await startServer({ greet })).baseUrl;
      });
      expect(called).toEqual([]);
    });

    it("is served from a page of the server's origin", async () => {
      const called: string[] = [];
      const greet: typeof greeter.greet = ({ name }) => ({ greeting: `number ${called.push(name)}` });
      const router = createRouter().add(GreetServiceDef, { ...greeter, greet });
      await browse("number 1", script, async (origin) => origin, nodeHandler(router));
      expect(called).toEqual([type === "text/plain" ? "name=forged\r\n" : "forged"]);
    });

    it("is served from a page whose origin cors allows", async () => {
      const called: string[] = [];
      await browse("number 1", script, async (origin) => {
        const greet: typeof greeter.greet = ({ name }) => ({ greeting: `number ${called.push(name)}` });
        return (await startServer({ greet }, { cors: { origins: [origin] } })).baseUrl;
      });
    });
  },
);
