/** The proto file and the handlers that the playground begins with. */
export const PROTO = `syntax = "proto3";

package hello.v1;

// Greets people.
service HelloService {
  // Greets one person.
  rpc SayHello(SayHelloRequest) returns (SayHelloResponse) {
    option idempotency_level = NO_SIDE_EFFECTS;
  }

  // Greets in several languages, one message each.
  rpc SayHelloInAll(SayHelloRequest) returns (stream SayHelloResponse);

  // Greets everybody as they arrive.
  rpc SayHelloToEach(stream SayHelloRequest) returns (stream SayHelloResponse);
}

message SayHelloRequest {
  string name = 1;
}

message SayHelloResponse {
  string greeting = 1;
}
`;

export const HANDLERS = `{
  sayHello({ name }) {
    if (name === "") throw new RpcError(Code.InvalidArgument, "the name is empty");
    return { greeting: \`Hello, \${name}!\` };
  },

  async *sayHelloInAll({ name }) {
    for (const hello of ["Hello", "Bonjour", "Hola"]) yield { greeting: \`\${hello}, \${name}!\` };
  },

  async *sayHelloToEach(requests) {
    for await (const { name } of requests) yield { greeting: \`Hello, \${name}!\` };
  },
}`;
