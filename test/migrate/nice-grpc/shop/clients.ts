import { type Channel, ChannelCredentials, type Client, createChannel, createClient, createClientFactory, Metadata } from "nice-grpc";
import { deadlineMiddleware } from "nice-grpc-client-middleware-deadline";
import { ShopServiceClient, ShopServiceDefinition } from "../gen/shop/v1/shop";
import { createTokenMiddleware, userMiddleware } from "./client-middleware";

const factory = createClientFactory().use(userMiddleware).use(deadlineMiddleware);

export function connect(address: string): Channel {
  return createChannel(address);
}

export function connectSecurely(): Channel {
  return createChannel("shop.example:443", ChannelCredentials.createSsl(), { "grpc.keepalive_time_ms": 10_000 });
}

export function createShopClient(channel: Channel): ShopServiceClient {
  return createClientFactory()
    .use(userMiddleware)
    .use(createTokenMiddleware("secret"))
    .create(ShopServiceDefinition, channel);
}

export function createPatientClient(channel: Channel) {
  return factory.create(ShopServiceDefinition, channel, { "*": { deadline: 60_000 } });
}

export const plain: Client<typeof ShopServiceDefinition> = createClient(ShopServiceDefinition, connect("http://localhost:8080"), {
  "*": { metadata: Metadata({ "x-user": "plain" }) },
});
