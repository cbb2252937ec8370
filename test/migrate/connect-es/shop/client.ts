import { ShopService, OrderProblemSchema } from "../gen/shop/v1/shop_pb.js";
import { createClient, type Transport } from "@connectrpc/connect";
import { type Client, Code, ConnectError, createConnectTransport, type Interceptor } from "./rpc.js";

const retry: Interceptor = (next) => async (req) => {
  for (let attempt = 0; ; attempt++) {
    try {
      return await next(req);
    } catch (reason) {
      if (!(reason instanceof ConnectError) || reason.code !== Code.Unavailable || attempt === 3) throw reason;
    }
  }
};

export class ShopClient {
  private readonly client: Client<typeof ShopService>;

  constructor(transport: Transport = createConnectTransport({ baseUrl: "http://localhost:3000", httpVersion: "2", interceptors: [retry] })) {
    this.client = createClient(ShopService, transport);
  }

  async find(id: string, signal?: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.client.getOrder({ id }, { signal })).id;
    } catch (err) {
      const error = ConnectError.from(err, Code.Internal);
      const [problem] = error.findDetails(OrderProblemSchema);
      console.warn(Code[error.code], problem?.field, [...error.metadata.keys()].length);
      return undefined;
    }
  }
}
