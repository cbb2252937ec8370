/** The service as loaded by `@grpc/proto-loader`, which most users of `@grpc/grpc-js` use. */
import { fileURLToPath } from "node:url";
import {
  type ChannelCredentials,
  type Client,
  type ClientReadableStream,
  type GrpcObject,
  loadPackageDefinition,
  type ServiceClientConstructor,
  type ServiceError,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

interface EchoClient extends Client {
  repeat<Message>(request: { count: number }): ClientReadableStream<Message>;
  echo<Message>(request: Message, answered: (error: ServiceError | null, answer?: Message) => void): void;
}

interface EchoClientConstructor extends ServiceClientConstructor {
  new (address: string, credentials: ChannelCredentials): EchoClient;
}

const definition = loadSync(fileURLToPath(new URL("proto/echo.proto", import.meta.url)), { defaults: true });
const { bench } = loadPackageDefinition(definition);
const { v1 } = bench as GrpcObject;
const { EchoService } = v1 as GrpcObject;

export const EchoServiceClient = EchoService as EchoClientConstructor;
