/**
 * The example with Next, built for production: its page in Chromium, and the handler as a route, which answers the
 * calls of all platforms.
 */
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { createTransport } from "triple-es/fetch";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createShopServiceClient } from "../../examples/gen/shop/v1/shop_triple.ts";
import { EXPECTED_IN_BOTH } from "../platforms/calls.ts";
import { EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { ROOT } from "../support/documents.ts";
import { isExampleInstalled, prepareExample, startExample } from "../support/examples.ts";
import { makeCalls } from "../support/platforms.ts";

/** A route that exists during the tests only. */
const JUDGE = join(ROOT, "examples/next/app/judge");
const hasChromium = existsSync(EXECUTABLE);
if (!hasChromium) console.warn(`skipped: the page of Next; there is no browser at ${EXECUTABLE}`);

describe.skipIf(!isExampleInstalled("next"))("the example next", () => {
  let baseUrl: string;
  let stop: (() => Promise<void>) | undefined;

  beforeAll(async () => {
    await prepareExample("next");
    await bundleRoute();
    const env = { NEXT_TELEMETRY_DISABLED: "1" };
    const { url } = await startExample("next", "start", env, (end) => {
      stop = end;
    });
    baseUrl = url;
  }, 240_000);

  afterAll(async () => {
    await stop?.();
    rmSync(JUDGE, { recursive: true, force: true });
  });

  it.skipIf(!hasChromium)("renders products on the server, places orders and shows those of others", async () => {
    expect(await (await fetch(baseUrl)).text()).toContain("Green tea");
    const browser = await launchBrowser();
    onTestFinished(() => browser.close());
    const page = await browser.newPage();
    await page.goto(baseUrl);
    const orderAs = async (name: string): Promise<void> => {
      await page.getByLabel("Name").fill(name);
      await page.getByRole("button", { name: "Order" }).click();
    };
    await page.getByLabel("Product").selectOption({ label: "Green tea, 3 left" });
    await orderAs("Ada");
    await page.getByText("Ada: Green tea").waitFor();
    await createShopServiceClient(createTransport({ baseUrl: `${baseUrl}/rpc` })).placeOrder({
      customer: "Bob",
      items: [{ productId: 1n, quantity: 1 }],
      delivery: { case: "pickup", value: "Station" },
    });
    await page.getByText("Bob: Teapot").waitFor();
    await orderAs("");
    await page.getByText("the order is invalid: customer; customer: a name is required").waitFor();
    await page.reload();
    await page.getByText("Bob: Teapot").waitFor();
    expect(await page.getByLabel("Product").innerText()).toContain("Green tea, 2 left");
  });

  it("answers the calls of a client on Node", async () => {
    const cache = mkdtempSync(join(tmpdir(), "triple-es-next-"));
    onTestFinished(() => rmSync(cache, { recursive: true, force: true }));
    expect(await makeCalls("Node", `${baseUrl}/judge`, cache)).toEqual(EXPECTED_IN_BOTH);
  });

  it("answers a preflight", async () => {
    const headers = { origin: "https://friend.example", "access-control-request-method": "POST" };
    const response = await fetch(`${baseUrl}/judge/greet.v1.GreetService/Greet`, { method: "OPTIONS", headers });
    expect([response.status, response.headers.get("access-control-allow-origin")]).toEqual([
      204,
      "https://friend.example",
    ]);
  });
});

/** Adds the route of the callee. Next does not resolve sources by their condition, so they are bundled into one file. */
async function bundleRoute(): Promise<void> {
  await build({
    entryPoints: [join(ROOT, "test/platforms/next-route.ts")],
    outfile: join(JUDGE, "[...method]/route.js"),
    bundle: true,
    format: "esm",
    platform: "node",
    conditions: ["triple-source"],
    logLevel: "warning",
  });
}
