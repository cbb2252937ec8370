import * as grpc from "@grpc/grpc-js";
import * as protoLoader from "@grpc/proto-loader";

const definition = protoLoader.loadSync("shop.proto", { keepCase: true });
const shop = (grpc.loadPackageDefinition(definition) as any).shop.v1;

export const client = new shop.ShopService("localhost:50051", grpc.credentials.createInsecure());
