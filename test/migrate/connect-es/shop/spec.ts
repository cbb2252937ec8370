import { createClient, createRouterTransport, ConnectError } from "@connectrpc/connect";
import { ElizaService } from "../gen/eliza/v1/eliza_pb.js";
import { OrderStatus, ShopService } from "../gen/shop/v1/shop_pb.js";
import { logger } from "../eliza/interceptors.js";
import { Shop } from "./service.js";

type Eliza = ReturnType<typeof createClient<typeof ElizaService>>;

export async function run(): Promise<number> {
  const transport = createRouterTransport(
    ({ service }) => {
      service(ShopService, new Shop());
      service(ElizaService, { say: (req) => ({ sentence: req.sentence }) });
    },
    { router: { interceptors: [logger] }, transport: { interceptors: [] } },
  );
  const shop = createClient(ShopService, transport);
  const { count } = await shop.placeOrders(
    (async function* () {
      yield { id: "1", items: [{ sku: "a", quantity: 2 }] };
    })(),
  );
  for await (const order of shop.watchOrders({ status: OrderStatus.OPEN })) console.log(order.id);
  const eliza: Eliza = createClient(ElizaService, transport);
  await eliza.say({ sentence: "hi" });
  await shop.getOrder({ id: "1" }).catch((e: unknown) => {
    if (!(e instanceof ConnectError)) throw e;
  });
  return count;
}
