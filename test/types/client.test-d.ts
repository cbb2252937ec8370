/** The types in the code of users: clients, handlers, options and interceptors. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import {
  type Call,
  type CallDefaults,
  type CallOptions,
  type CallRequest,
  type CallResponse,
  createClient,
  createRouter,
  createStub,
  type HandlerContext,
  type Interceptor,
  type Metadata,
  type MetadataInit,
  type Router,
  type Transport,
} from "triple-es";
import { createServer, type Server } from "triple-es/node";
import { assertType, describe, expectTypeOf, it } from "vitest";
import type { GreetRequest, GreetRequestSchema, GreetResponse } from "../../examples/gen/greet/v1/greet_pb.ts";
import {
  createGreetServiceClient,
  type GreetRequestInit,
  GreetService_greet,
  GreetService_greetEach,
  GreetService_greetOnArrival,
  GreetService_greetTogether,
  type GreetServiceClient,
  GreetServiceDef,
  type GreetServiceHandler,
} from "../../examples/gen/greet/v1/greet_triple.ts";

declare const transport: Transport;
declare const client: GreetServiceClient;

describe("a client", () => {
  it("has its named type in every form", () => {
    expectTypeOf(createGreetServiceClient(transport)).toEqualTypeOf<GreetServiceClient>();
    expectTypeOf(createClient(GreetServiceDef, transport)).toEqualTypeOf<GreetServiceClient>();
    expectTypeOf(createGreetServiceClient).parameter(0).toEqualTypeOf<Transport>();
    expectTypeOf(createGreetServiceClient).parameter(1).toEqualTypeOf<CallDefaults | undefined>();
    expectTypeOf<Parameters<typeof createGreetServiceClient>["length"]>().toEqualTypeOf<1 | 2>();
  });

  it("accepts init shapes and returns messages", () => {
    expectTypeOf<GreetRequestInit>().toEqualTypeOf<MessageInitShape<typeof GreetRequestSchema>>();
    expectTypeOf(client.greet).parameter(0).toEqualTypeOf<GreetRequestInit>();
    expectTypeOf(client.greet).parameter(1).toEqualTypeOf<CallOptions | undefined>();
    expectTypeOf<Parameters<typeof client.greet>["length"]>().toEqualTypeOf<1 | 2>();
    expectTypeOf(client.greet({ name: "Ada" })).resolves.toEqualTypeOf<GreetResponse>();
    expectTypeOf(client.greetEach).returns.toExtend<AsyncIterable<{ greeting: string }>>();
    expectTypeOf(client.greetTogether).parameter(0).toExtend<AsyncIterable<{ name?: string }>>();
    expectTypeOf(client.greetTogether).returns.resolves.toHaveProperty("greeting");
    expectTypeOf(client.greetOnArrival).returns.toExtend<AsyncIterable<{ greeting: string }>>();
  });

  it("refuses fields that are not there, values of other types, and methods that are not there", () => {
    // @ts-expect-error The field does not exist.
    void client.greet({ nmae: "Ada" });
    // @ts-expect-error A name is text.
    void client.greet({ name: 1 });
    // @ts-expect-error A streaming call is not a promise.
    client.greetEach({}).then;
    // @ts-expect-error The method does not exist.
    client.greets;
  });

  it("can be faked with an object literal", () => {
    assertType<Pick<GreetServiceClient, "greet">>({
      greet: async () => ({ $typeName: "greet.v1.GreetResponse", greeting: "Hello!" }),
    });
  });
});

describe("a stub", () => {
  it("has the shape of its method's kind", () => {
    expectTypeOf(createStub(GreetService_greet, transport)).toEqualTypeOf<
      (request: GreetRequestInit, options?: CallOptions) => Promise<GreetResponse>
    >();
    expectTypeOf(createStub(GreetService_greetEach, transport)).toExtend<GreetServiceClient["greetEach"]>();
    expectTypeOf(createStub(GreetService_greetTogether, transport)).toExtend<GreetServiceClient["greetTogether"]>();
    expectTypeOf(createStub(GreetService_greetOnArrival, transport)).toExtend<GreetServiceClient["greetOnArrival"]>();
  });
});

describe("options of a call", () => {
  it("are the defaults of a client and more", () => {
    expectTypeOf<CallOptions>().toExtend<CallDefaults>();
    expectTypeOf<CallOptions["timeoutMs"]>().toEqualTypeOf<number | undefined>();
    expectTypeOf<CallOptions["signal"]>().toEqualTypeOf<AbortSignal | undefined>();
    expectTypeOf<CallOptions["headers"]>().toEqualTypeOf<MetadataInit | undefined>();
    expectTypeOf<NonNullable<CallOptions["onHeaders"]>>().parameter(0).toEqualTypeOf<Metadata>();
  });

  it("may be left undefined one by one, and take metadata in every form", () => {
    void client.greet({}, { timeoutMs: undefined, signal: undefined, headers: undefined, onTrailers: undefined });
    void client.greet({}, { headers: { "x-one": "1", "x-many": ["1", "2"], "x-bin": new Uint8Array() } });
    void client.greet({}, { headers: [["x-one", "1"]] });
    void client.greet({}, { headers: new Map([["x-one", "1"]]) });
    // @ts-expect-error A timeout is a number of milliseconds.
    void client.greet({}, { timeoutMs: "1s" });
    // @ts-expect-error The option does not exist.
    void client.greet({}, { timeout: 1000 });
  });
});

declare const rest: Omit<GreetServiceHandler, "greet">;

describe("a handler", () => {
  it("is of its named type, which add infers", () => {
    const server = createServer();
    expectTypeOf(server.add<GreetServiceHandler>)
      .parameter(1)
      .toEqualTypeOf<GreetServiceHandler>();
    server.add(GreetServiceDef, {
      ...rest,
      greet(request, context) {
        expectTypeOf(request).toEqualTypeOf<GreetRequest>();
        expectTypeOf(context).toEqualTypeOf<HandlerContext>();
        expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>();
        return {};
      },
    });
  });

  it("answers with init shapes, at once or later", () => {
    assertType<GreetServiceHandler>({ ...rest, greet: () => ({ greeting: "Hello!" }) });
    assertType<GreetServiceHandler>({ ...rest, greet: async () => ({ greeting: "Hello!" }) });
    assertType<GreetServiceHandler>({
      ...rest,
      greet: async (_, { timeoutMs }) => ({ greeting: String(timeoutMs()) }),
    });
    // @ts-expect-error The field does not exist.
    assertType<GreetServiceHandler>({ ...rest, greet: () => ({ greting: "Hello!" }) });
    // @ts-expect-error A greeting is text.
    assertType<GreetServiceHandler>({ ...rest, greet: () => ({ greeting: 1 }) });
  });

  it("streams with generators", () => {
    assertType<Pick<GreetServiceHandler, "greetEach" | "greetOnArrival">>({
      async *greetEach({ names }) {
        for (const name of names) yield { greeting: name };
      },
      async *greetOnArrival(requests) {
        for await (const { name } of requests) yield { greeting: name };
      },
    });
  });

  it("may be an instance of a class", () => {
    class Greeter implements GreetServiceHandler {
      greet = ({ name }: GreetRequest) => ({ greeting: name });
      greetEach = rest.greetEach;
      greetTogether = rest.greetTogether;
      greetOnArrival = rest.greetOnArrival;
    }
    expectTypeOf(createRouter().add(GreetServiceDef, new Greeter())).toExtend<Router>();
  });

  it("must have every method", () => {
    // @ts-expect-error The method greet is missing.
    createServer().add(GreetServiceDef, rest);
    // @ts-expect-error All but one are missing.
    createServer().add(GreetServiceDef, { greet: () => ({}) });
  });

  it("is added to a server, which stays one", () => {
    expectTypeOf(createServer().add(GreetServiceDef, { ...rest, greet: () => ({}) })).toEqualTypeOf<Server>();
    expectTypeOf(createServer().listen({ port: 0 })).resolves.toEqualTypeOf<Server>();
  });
});

describe("an interceptor", () => {
  it("wraps a call", () => {
    expectTypeOf<Interceptor>().toEqualTypeOf<(next: Call) => Call>();
    expectTypeOf<Call>().toEqualTypeOf<(request: CallRequest) => Promise<CallResponse>>();
  });

  it("distinguishes unary and streaming calls by their member stream", () => {
    const interceptor: Interceptor = (next) => async (request) => {
      if (request.stream) {
        expectTypeOf(request.messages).toEqualTypeOf<AsyncIterable<object>>();
        // @ts-expect-error A stream has messages.
        request.message;
      } else {
        expectTypeOf(request.message).toEqualTypeOf<object>();
        // @ts-expect-error A unary call has one message.
        request.messages;
      }
      const response = await next(request);
      if (response.stream) expectTypeOf(response.messages).toEqualTypeOf<AsyncIterable<object>>();
      else expectTypeOf(response.message).toEqualTypeOf<object>();
      return response;
    };
    assertType<Interceptor>(interceptor);
  });
});
