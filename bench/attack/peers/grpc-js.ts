/** The same service on `@grpc/grpc-js`, with messages of `@grpc/proto-loader`. */
import { create, type DescFile, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import {
  type GrpcObject,
  type handleUnaryCall,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServiceClientConstructor,
} from "@grpc/grpc-js";
import { loadFileDescriptorSetFromBuffer } from "@grpc/proto-loader";
import { announcePort, loopback } from "../../contests/servers/port.ts";
import { CostlySchema } from "../../messages/gen/costly_pb.ts";

/** Returns a file after the files that it imports. */
function withImports(file: DescFile): DescFile[] {
  return [...new Set([...file.dependencies.flatMap(withImports), file])];
}

// The loader has google/protobuf/any.proto twice if it reads these proto files itself.
const file = withImports(CostlySchema.file).map(({ proto }) => proto);
const files = Buffer.from(toBinary(FileDescriptorSetSchema, create(FileDescriptorSetSchema, { file })));
const definition = loadFileDescriptorSetFromBuffer(files, { defaults: true });
const { bench } = loadPackageDefinition(definition);
const { v1 } = bench as GrpcObject;
const { CostlyService } = v1 as GrpcObject;

const take: handleUnaryCall<unknown, object> = (_call, reply) => reply(null, {});

const server = new Server();
server.addService((CostlyService as ServiceClientConstructor).service, { take, say: take });
server.bindAsync(`${loopback}:0`, ServerCredentials.createInsecure(), (error, port) => {
  if (error !== null) throw error;
  announcePort(port);
});
