/** The example on PostgreSQL: two servers, and sessions of psql that get in their way. */
import { type CallOptions, Code } from "triple-es";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createShopServiceClient, type ShopServiceClient } from "../../examples/gen/shop/v1/shop_triple.ts";
import { withIdempotencyKey } from "../../examples/postgres/src/idempotency-key.ts";
import { shopRetry } from "../../examples/postgres/src/retry.ts";
import { isExampleInstalled, prepareExample, runExample } from "../support/examples.ts";
import { hasPostgres, type Postgres, type Session, startPostgres } from "../support/postgres.ts";
import { type Program, startProgram } from "../support/program.ts";
import { failureOf, missDeadline, openTransport, readUntilFailure, signalled } from "../support/server.ts";

if (!hasPostgres) console.warn("skipped: the example postgres, which needs PostgreSQL");
const canRun = isExampleInstalled("postgres") && hasPostgres;

describe.skipIf(!canRun)("the example postgres (needs PostgreSQL)", () => {
  let postgres: Postgres;
  let psql: Session;
  let servers: readonly Program[] = [];
  let baseUrls: readonly string[];

  beforeAll(async () => {
    await prepareExample("postgres");
    postgres = await startPostgres();
    const environment = { DATABASE_URL: postgres.url, PORT: "0" };
    await runExample("postgres", "schema", environment);
    const start = (): Program => startProgram("postgres", ["npm", "run", "--silent", "server"], environment);
    servers = [start(), start()];
    baseUrls = await Promise.all(servers.map(async (server) => (await server.line(/http:\S+/))[0]));
    psql = postgres.connect();
  });

  afterAll(async () => {
    await psql?.close();
    const outputs = await Promise.all(servers.map((server) => server.stop()));
    await postgres?.stop();
    for (const output of outputs) expect(output).toContain("the shop is closed");
  });

  const retries: Code[] = [];
  const open = (index: number): ShopServiceClient =>
    createShopServiceClient(
      openTransport(baseUrls[index] ?? "", {
        interceptors: [withIdempotencyKey],
        retry: { ...shopRetry, onRetry: ({ error }) => retries.push(error?.code ?? Code.Unknown) },
      }),
    );

  const delivery = { case: "pickup", value: "Main street" } as const;
  const place = async (shop: ShopServiceClient, customer: string, options: CallOptions = {}, quantity = 1) => {
    const items = [{ productId: 2n, quantity }];
    return (await shop.placeOrder({ customer, items, delivery }, options)).order;
  };
  const stockOf = async (id: bigint): Promise<string | undefined> =>
    (await psql.run(`SELECT stock FROM products WHERE id = ${id}`))[0];
  const ordersOf = (customer: string): Promise<string[]> =>
    psql.run(`SELECT count(*) FROM orders WHERE customer = '${customer}'`);

  /** Resolves when queries of a server wait for a lock. */
  const waitForLock = (): Promise<void> =>
    expect
      .poll(() => psql.run("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"), { timeout: 20_000 })
      .toEqual(["1"]);

  /** A session whose open transaction has changed the cups. */
  async function changingCups(): Promise<Session> {
    const other = postgres.connect();
    onTestFinished(() => other.close());
    await other.run("BEGIN ISOLATION LEVEL SERIALIZABLE");
    await other.run("UPDATE products SET stock = stock - 1 WHERE id = 2");
    return other;
  }

  it("prints what its README says", async () => {
    const addresses = baseUrls.map((url) => new URL(url).host).join(",");
    const output = await runExample("postgres", "client", { SERVERS: addresses });
    const lines = output.trim().split("\n");
    expect(lines.pop()).toBe("cups: 40 before, 36 after");
    const customers = lines.map((line) => /^order \d+ of (customer \d): 6 EUR$/.exec(line)?.[1]);
    expect(customers.sort()).toEqual(["customer 1", "customer 2", "customer 3", "customer 4"]);
  });

  it("repeats a transaction that another one got ahead of", async () => {
    const before = Number(await stockOf(2n));
    const other = await changingCups();
    retries.length = 0;
    const placed = place(open(0), "Ada");
    await waitForLock();
    await other.run("COMMIT");
    expect(await placed).toMatchObject({ customer: "Ada", total: { units: 6n, nanos: 950_000_000 } });
    expect(retries).toEqual([Code.Aborted]);
    expect(Number(await stockOf(2n))).toBe(before - 2);
  });

  it("answers aborted to a client without a retry policy", async () => {
    const other = await changingCups();
    const shop = createShopServiceClient(openTransport(baseUrls[0] ?? ""));
    const failed = failureOf(place(shop, "Eve"));
    await waitForLock();
    await other.run("COMMIT");
    const { code, rawMessage } = await failed;
    expect([code, rawMessage]).toEqual([Code.Aborted, "another transaction has changed the same rows; try again"]);
    expect(await ordersOf("Eve")).toEqual(["0"]);
  });

  it("places an order once for each idempotency key, at any server", async () => {
    const headers = { "idempotency-key": "a-key" };
    const shops = [open(0), open(1)];
    const orders = await Promise.all([0, 1, 0, 1].map((index) => place(shops[index] ?? open(0), "Bob", { headers })));
    expect(new Set(orders.map((order) => order?.id)).size).toBe(1);
    expect(await ordersOf("Bob")).toEqual(["1"]);

    const { code, rawMessage } = await failureOf(place(open(0), "Bob", { headers }, 2));
    expect([code, rawMessage]).toEqual([Code.AlreadyExists, "the idempotency key has been used for another order"]);
  });

  it("rolls back orders that fail", async () => {
    const before = await stockOf(2n);
    const shop = open(0);
    const items = [
      { productId: 2n, quantity: 1 },
      { productId: 9_007_199_254_740_993n, quantity: 4 },
    ];
    const failure = await failureOf(shop.placeOrder({ customer: "Cleo", items, delivery }));
    expect([failure.code, failure.rawMessage]).toEqual([Code.FailedPrecondition, "only 3 of Green tea are left"]);
    expect(
      (await failureOf(shop.placeOrder({ customer: "Cleo", items: [{ productId: 5n, quantity: 1 }], delivery }))).code,
    ).toBe(Code.NotFound);
    expect([await stockOf(2n), await ordersOf("Cleo")]).toEqual([before, ["0"]]);
  });

  it.each(["is cancelled", "misses its deadline"])("cancels the query of a call that %s", async (event) => {
    const other = await changingCups();
    const shop = open(0);
    if (event === "is cancelled") {
      const controller = new AbortController();
      const failed = failureOf(place(shop, "Dan", { signal: controller.signal }));
      await waitForLock();
      controller.abort();
      expect((await failed).code).toBe(Code.Canceled);
    } else {
      await missDeadline(waitForLock(), (options) => failureOf(place(shop, "Dan", options)));
    }
    // The lock is still held, so the query ends only if it is cancelled.
    const busy = "SELECT count(*) FROM pg_stat_activity WHERE state <> 'idle' AND pid <> pg_backend_pid()";
    await expect.poll(() => psql.run(busy), { timeout: 20_000 }).toEqual(["1"]);
    await other.run("ROLLBACK");
    expect(await ordersOf("Dan")).toEqual(["0"]);
    expect((await place(shop, "Fay"))?.customer).toBe("Fay");
  });

  it("sends orders of another server, and changes by other programs, to a watcher", async () => {
    const watching = signalled();
    const seen: string[] = [];
    const [last = "0"] = await psql.run("SELECT max(id) FROM orders");
    const first = await place(open(1), "Gil");
    const watched = (async () => {
      for await (const { order } of open(0).watchOrders({ afterId: BigInt(last) })) {
        seen.push(`${order?.customer} ${order?.status}`);
        watching.resolve();
        if (seen.length === 3) return;
      }
    })();
    await watching.promise;
    await place(open(1), "Hal");
    await expect.poll(() => seen.length, { timeout: 20_000 }).toBe(2);
    await psql.run(`UPDATE orders SET status = 2 WHERE id = ${first?.id}`);
    await watched;
    expect(seen).toEqual(["Gil 1", "Hal 1", "Gil 2"]);
  });

  it("ends watches as unavailable when the server closes, and finishes transactions", async () => {
    const environment = { DATABASE_URL: postgres.url, PORT: "0" };
    const server = startProgram("postgres", ["npm", "run", "--silent", "server"], environment);
    onTestFinished(async () => void (await server.stop()));
    const [baseUrl] = await server.line(/http:\S+/);
    const shop = createShopServiceClient(openTransport(baseUrl));
    const { begun, failed } = readUntilFailure(shop.watchOrders({}));
    await begun;
    const other = await changingCups();
    const placed = place(shop, "Ida");
    await waitForLock();
    const stopped = server.stop();
    expect((await failed).code).toBe(Code.Unavailable);
    await other.run("ROLLBACK");
    expect((await placed)?.customer).toBe("Ida");
    expect(await stopped).toContain("the shop is closed");
  });
});
