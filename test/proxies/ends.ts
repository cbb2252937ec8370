/**
 * The two ends of a connection through a proxy: ours and those of grpc-js. Every request has a name that no other one
 * has.
 */
import { fromBinary, toBinary } from "@bufbuild/protobuf";
import {
  credentials,
  type handleUnaryCall,
  Client as JsClient,
  Server as JsServer,
  Metadata,
  ServerCredentials,
} from "@grpc/grpc-js";
import { createServer, createTransport } from "triple-es/node";
import {
  type GreetRequest,
  GreetRequestSchema,
  type GreetResponse,
  GreetResponseSchema,
} from "../../examples/gen/greet/v1/greet_pb.ts";
import {
  createGreetServiceClient,
  GreetService_greet,
  GreetServiceDef,
} from "../../examples/gen/greet/v1/greet_triple.ts";
import type { Running } from "../interop/program.ts";
import { CONFIGURATION_HEADER } from "./proxy.ts";

export interface ServerEnd extends Running {
  /** The number of calls of the handler, by name of the greeted. */
  readonly runs: ReadonlyMap<string, number>;
}

export interface ClientEnd {
  /** Makes a call. Returns the proxy's configuration that passed it on. Rejects with the error of the call. */
  call(name: string): Promise<string | undefined>;
  close(): Promise<void>;
}

const PATH = GreetService_greet.path;

/** Counts a run of the handler, and makes its answer. */
function greet(runs: Map<string, number>, name: string): string {
  runs.set(name, (runs.get(name) ?? 0) + 1);
  return `Hello, ${name}!`;
}

export const servers: Readonly<Record<"triple" | "grpc-js", () => Promise<ServerEnd>>> = {
  async triple() {
    const runs = new Map<string, number>();
    const server = createServer().add(GreetServiceDef, {
      greet: ({ name }) => ({ greeting: greet(runs, name) }),
      async *greetEach() {},
      greetTogether: () => ({}),
      async *greetOnArrival() {},
    });
    await server.listen({ port: 0, host: "127.0.0.1" });
    return { runs, port: server.address.port, stop: () => server.close({ graceMs: 0 }) };
  },

  async "grpc-js"() {
    const runs = new Map<string, number>();
    const server = new JsServer();
    const handle: handleUnaryCall<GreetRequest, Pick<GreetResponse, "greeting">> = ({ request }, reply) =>
      reply(null, { greeting: greet(runs, request.name) });
    const definition = {
      path: PATH,
      requestStream: false,
      responseStream: false,
      requestSerialize: encodeRequest,
      requestDeserialize: (bytes: Buffer) => fromBinary(GreetRequestSchema, bytes),
      responseSerialize: encodeResponse,
      responseDeserialize: decodeResponse,
    };
    server.addService({ greet: definition }, { greet: handle });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound);
        else reject(error);
      });
    });
    return { runs, port, stop: async () => server.forceShutdown() };
  },
};

export const clients: Readonly<Record<"triple" | "grpc-js", (port: number) => ClientEnd>> = {
  triple(port) {
    const transport = createTransport({ baseUrl: `http://127.0.0.1:${port}` });
    const client = createGreetServiceClient(transport);
    return {
      async call(name) {
        let configuration: string | undefined;
        const onHeaders = (headers: { get(name: string): string | undefined }): void => {
          configuration = headers.get(CONFIGURATION_HEADER);
        };
        check(name, (await client.greet({ name }, { onHeaders })).greeting);
        return configuration;
      },
      close: () => transport.close(),
    };
  },

  "grpc-js"(port) {
    const client = new JsClient(`127.0.0.1:${port}`, credentials.createInsecure());
    return {
      call: (name) =>
        new Promise((resolve, reject) => {
          let configuration: string | undefined;
          const request = { name } as GreetRequest;
          client
            .makeUnaryRequest(PATH, encodeRequest, decodeResponse, request, new Metadata(), (error, response) => {
              if (error !== null) return reject(error);
              check(name, response?.greeting);
              resolve(configuration);
            })
            .on("metadata", (headers) => {
              configuration = String(headers.get(CONFIGURATION_HEADER)[0]);
            });
        }),
      close: async () => client.close(),
    };
  },
};

function check(name: string, greeting: string | undefined): void {
  if (greeting !== `Hello, ${name}!`) throw new Error(`call ${name} was answered with ${greeting}`);
}

function encodeRequest({ name }: Pick<GreetRequest, "name">): Buffer {
  return Buffer.from(toBinary(GreetRequestSchema, { $typeName: "greet.v1.GreetRequest", name } as GreetRequest));
}

function encodeResponse({ greeting }: Pick<GreetResponse, "greeting">): Buffer {
  return Buffer.from(toBinary(GreetResponseSchema, { $typeName: "greet.v1.GreetResponse", greeting } as GreetResponse));
}

function decodeResponse(bytes: Buffer): GreetResponse {
  return fromBinary(GreetResponseSchema, bytes);
}
