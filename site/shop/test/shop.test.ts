import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, createInMemoryTransport, createRouter, findDetails, RpcError } from "triple-es";
import { authorize } from "../src/authorize.js";
import { OutOfStockSchema } from "../src/gen/shop/v1/shop_pb.js";
import { createShopServiceClient, type ShopServiceClient, ShopServiceDef } from "../src/gen/shop/v1/shop_triple.js";
import { withToken } from "../src/interceptors.js";
import { createShop } from "../src/shop.js";

/** A client and its server in this process, without a port. */
function connect(token = "secret"): ShopServiceClient {
  const router = createRouter({ authorize }).add(ShopServiceDef, createShop());
  return createShopServiceClient(createInMemoryTransport(router, { interceptors: [withToken(token)] }));
}

async function collect<T>(messages: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const message of messages) all.push(message);
  return all;
}

test("an order takes items from the stock", async () => {
  const shop = connect();
  const stock = shop.watchStock({ product: "tea" })[Symbol.asyncIterator]();
  assert.equal((await stock.next()).value?.left, 10);
  const { order } = await shop.placeOrder({ product: "tea", quantity: 2 });
  assert.equal(order?.customer, "Ann");
  assert.equal((await stock.next()).value?.left, 8);
  await stock.return?.();
});

test("an order above the stock is refused with the number that is left", async () => {
  const error: unknown = await connect()
    .placeOrder({ product: "tea", quantity: 11 })
    .catch((error) => error);
  assert(error instanceof RpcError);
  assert.equal(error.code, Code.FailedPrecondition);
  assert.equal(findDetails(error, OutOfStockSchema)[0]?.left, 10);
});

test("a caller without a token is refused", async () => {
  await assert.rejects(connect("wrong").placeOrder({ product: "tea", quantity: 1 }), { code: Code.Unauthenticated });
});

test("a watch ends at its deadline", async () => {
  const watch = connect().watchStock({ product: "tea" }, { timeoutMs: 20 });
  await assert.rejects(collect(watch), { code: Code.DeadlineExceeded });
});

test("an upload is counted, and a chat answered, as their messages arrive", async () => {
  const shop = connect();
  async function* chunks() {
    for (const size of [3, 4]) yield { chunk: new Uint8Array(size) };
  }
  assert.equal((await shop.uploadPicture(chunks())).bytes, 7);
  async function* texts() {
    for (const text of ["Hello", "Bye"]) yield { text };
  }
  const answers = await collect(shop.chat(texts()));
  assert.deepEqual(
    answers.map(({ text }) => text),
    ["Ann: Hello", "Ann: Bye"],
  );
});
