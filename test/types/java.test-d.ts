/** The names of Java types, and their types in contracts and generated code. */
import type { Method } from "triple-es";
import type {
  BigDecimal,
  byte,
  char,
  double,
  InterfaceMethod,
  int,
  JavaArray,
  long,
  Serialization,
  short,
} from "triple-es-dubbo/java";
import { assertType, describe, expectTypeOf, it } from "vitest";
import type { ShopClient, ShopHandler } from "../support/shop.ts";
import { shop } from "../support/shop.ts";

describe("a name of a type of Java", () => {
  it("takes the plain values of TypeScript", () => {
    assertType<int>(5);
    assertType<short>(5);
    assertType<byte>(5);
    assertType<double>(0.5);
    assertType<long>(5n);
    assertType<char>("a");
    assertType<BigDecimal>("12.50");
    assertType<JavaArray<int>>([1, 2]);
  });

  it("is one of them", () => {
    expectTypeOf<int>().toExtend<number>();
    expectTypeOf<long>().toExtend<bigint>();
    expectTypeOf<JavaArray<string>>().toExtend<string[]>();
  });

  it("is no other", () => {
    // @ts-expect-error a long is a bigint
    assertType<long>(5);
    // @ts-expect-error an int is not a string
    assertType<int>("5");
    // @ts-expect-error a value declared as int is not a short
    assertType<short>(5 as unknown as int);
  });
});

describe("a service without IDL", () => {
  it("has functions with arguments by position, then options or context", () => {
    expectTypeOf<ShopClient["find"]>().parameter(0).toExtend<bigint>();
    expectTypeOf<Parameters<ShopHandler["sayHi"]>[2]["signal"]>().toEqualTypeOf<AbortSignal>();
    assertType<ShopHandler>(shop);
    // @ts-expect-error the result is not a string
    assertType<ShopHandler>({ ...shop, total: () => "much" });
  });

  it("has methods like any other", () => {
    expectTypeOf<InterfaceMethod>().toExtend<Method>();
  });
});

it("takes serializations of one's own", () => {
  assertType<Serialization>({ name: "own", encode: () => new Uint8Array(0), decode: () => null });
});
