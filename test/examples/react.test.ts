/** The page of the example, built for production and served by the shop, in Chromium. */
import { existsSync } from "node:fs";
import type { Page } from "playwright-core";
import { createTransport } from "triple-es/node";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createShopServiceClient } from "../../examples/gen/shop/v1/shop_triple.ts";
import { EXECUTABLE, launchBrowser } from "../support/chromium.ts";
import { isExampleInstalled, prepareExample, startExample } from "../support/examples.ts";

const canRun = isExampleInstalled("react") && existsSync(EXECUTABLE);
if (!canRun) console.warn(`skipped: the example react; it also needs a browser at ${EXECUTABLE}`);

describe.skipIf(!canRun)("the page of the example react", () => {
  beforeAll(() => prepareExample("react"));

  it("places orders, shows orders of others when they are placed, and shows errors with their details", async () => {
    const { url } = await startExample("react");
    const page = await open(url);
    const text = (content: string) => page.getByText(content).waitFor();
    await text("live");

    await page.getByLabel("Product").selectOption({ label: "Green tea, €12.00, 3 left" });
    await page.getByLabel("Name").fill("Ada");
    await page.getByRole("button", { name: "Order" }).click();
    await text("Your order has the number 1.");
    expect(await page.getByRole("listitem").innerText()).toMatch(/Ada: 1 × Green tea, €12\.00/);
    await page.getByText("Green tea, €12.00, 2 left").waitFor({ state: "attached" });

    const transport = createTransport({ baseUrl: url });
    onTestFinished(() => transport.close());
    await createShopServiceClient(transport).placeOrder({
      customer: "Bob",
      items: [{ productId: 2n, quantity: 2 }],
      delivery: { case: "pickup", value: "Station" },
    });
    await text("Bob: 2 × Cup, €13.90");

    await page.getByLabel("Name").fill("");
    await page.getByLabel("Quantity").fill("0");
    await page.getByRole("button", { name: "Order" }).click();
    await page.getByRole("alert").waitFor();
    expect((await page.getByRole("alert").innerText()).split(/\n+/)).toEqual([
      "the order is invalid: customer, items[0].quantity",
      "customer: a name is required",
      "items[0].quantity: must be at least 1, is 0",
    ]);
    await page.getByLabel("Name").fill("Cleo");
    await page.getByLabel("Quantity").fill("3");
    await page.getByRole("button", { name: "Order" }).click();
    await text("only 2 of Green tea are left");
  });

  it("watches again after the server has been restarted", async () => {
    const first = await startExample("react");
    const page = await open(first.url);
    await page.getByText("live").waitFor();
    await first.stop();
    await page.getByText("connecting …").waitFor();
    await startExample("react", "start", { PORT: new URL(first.url).port });
    await page.getByText("live").waitFor();
  });
});

async function open(url: string): Promise<Page> {
  const browser = await launchBrowser();
  onTestFinished(() => browser.close());
  const page = await browser.newPage();
  await page.goto(url);
  return page;
}
