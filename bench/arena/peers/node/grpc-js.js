/** Services of the arenas with @grpc/grpc-js and @grpc/proto-loader: node grpc-js.js PORT PROTO... */
import { loadPackageDefinition, Server, ServerCredentials } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const [port, ...protos] = process.argv.slice(2);
const options = { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true };
const { benchmark, helloworld, api } = loadPackageDefinition(loadSync(protos, options));
const server = new Server();
server.addService(benchmark.BenchmarkService.service, {
  GetSum: ({ request }, reply) => reply(null, { result: request.a + request.b }),
});
server.addService(helloworld.Greeter.service, {
  SayHello: ({ request }, reply) => reply(null, { response: request.request }),
});
server.addService(api.Greeter.service, {
  SayHello: ({ request }, reply) => reply(null, { name: `Hello ${request.name}`, id: "12345", age: 21 }),
});
server.bindAsync(`127.0.0.1:${port}`, ServerCredentials.createInsecure(), (error) => {
  if (error) throw error;
});
