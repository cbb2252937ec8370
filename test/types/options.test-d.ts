/** Options: optional members also accept `undefined`, so that a value that may be absent can be passed on. */
import type {
  CallDefaults,
  CallOptions,
  CorsOptions,
  InMemoryTransportOptions,
  JsonCodecOptions,
  RouterOptions,
  RpcErrorOptions,
  ServiceOptions,
} from "triple-es";
import type { FetchHandlerOptions, FetchTransportOptions } from "triple-es/fetch";
import type {
  ClientTlsOptions,
  CloseOptions,
  ConnectionLimits,
  ListenOptions,
  NodeHandlerOptions,
  NodeTransportOptions,
  ServerOptions,
} from "triple-es/node";
import type { ClientTelemetryOptions } from "triple-es/opentelemetry";
import type { ReflectionOptions } from "triple-es/reflection";
import type { Hessian2Limits, Hessian2Options } from "triple-es-dubbo/hessian2";
import type { JavaExceptionOptions } from "triple-es-dubbo/java";
import { describe, expectTypeOf, it } from "vitest";

/** The names of optional members that do not accept `undefined`. */
type Refusing<T> = {
  [Name in keyof T]-?: object extends Pick<T, Name> ? (undefined extends Required<T>[Name] ? never : Name) : never;
}[keyof T];

describe("options", () => {
  it("that do not accept undefined are found", () => {
    expectTypeOf<Refusing<{ a?: number; b?: number | undefined; c: number }>>().toEqualTypeOf<"a">();
  });

  it("all take undefined", () => {
    expectTypeOf<Refusing<CallDefaults>>().toBeNever();
    expectTypeOf<Refusing<CallOptions>>().toBeNever();
    expectTypeOf<Refusing<ClientTelemetryOptions>>().toBeNever();
    expectTypeOf<Refusing<ClientTlsOptions>>().toBeNever();
    expectTypeOf<Refusing<CloseOptions>>().toBeNever();
    expectTypeOf<Refusing<ConnectionLimits>>().toBeNever();
    expectTypeOf<Refusing<CorsOptions>>().toBeNever();
    expectTypeOf<Refusing<FetchHandlerOptions>>().toBeNever();
    expectTypeOf<Refusing<FetchTransportOptions>>().toBeNever();
    expectTypeOf<Refusing<Hessian2Limits>>().toBeNever();
    expectTypeOf<Refusing<Hessian2Options>>().toBeNever();
    expectTypeOf<Refusing<InMemoryTransportOptions>>().toBeNever();
    expectTypeOf<Refusing<JavaExceptionOptions>>().toBeNever();
    expectTypeOf<Refusing<JsonCodecOptions>>().toBeNever();
    expectTypeOf<Refusing<ListenOptions>>().toBeNever();
    expectTypeOf<Refusing<NodeHandlerOptions>>().toBeNever();
    expectTypeOf<Refusing<ReflectionOptions>>().toBeNever();
    expectTypeOf<Refusing<RouterOptions>>().toBeNever();
    expectTypeOf<Refusing<RpcErrorOptions>>().toBeNever();
    expectTypeOf<Refusing<ServerOptions>>().toBeNever();
    expectTypeOf<Refusing<ServiceOptions>>().toBeNever();
    expectTypeOf<Refusing<NodeTransportOptions>>().toBeNever();
  });
});
