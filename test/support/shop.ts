/**
 * A service without IDL for tests, in the form of code generated from a TypeScript interface, with a value of every type
 * and a method of every kind.
 */
import {
  type BigDecimal,
  type BigInteger,
  type byte,
  type CallDefaults,
  type CallOptions,
  type char,
  createInterfaceClient,
  type double,
  type float,
  type HandlerContext,
  type InterfaceMethod,
  type int,
  interfacePayload,
  type JavaArray,
  type JavaClass,
  type JavaEnum,
  JavaException,
  type JavaType,
  type long,
  type ServiceDef,
  type Signature,
  type short,
  type Transport,
} from "triple-es-dubbo/java";

export interface User {
  readonly friends: readonly User[] | null;
  readonly id: long | null;
  readonly age: int;
  readonly name: string | null;
}

export type Color = "RED" | "GREEN";

/** A value of every type. */
export interface Everything {
  flag: boolean;
  byte: byte;
  short: short;
  int: int;
  long: long;
  float: float;
  double: double;
  char: char;
  text: string | null;
  boxed: int | null;
  decimal: BigDecimal | null;
  big: BigInteger | null;
  date: Date | null;
  bytes: Uint8Array | null;
  longs: long[] | null;
  ints: JavaArray<int> | null;
  chars: JavaArray<char> | null;
  words: Set<string> | null;
  counts: Map<int, long> | null;
  labels: Record<string, string> | null;
  user: User | null;
  color: Color | null;
  any: unknown;
}

export const User: JavaClass = {
  name: "com.acme.User",
  fields: {
    friends: { list: { class: () => User } },
    id: "java.lang.Long",
    age: "int",
    name: "java.lang.String",
  },
};

export const Color: JavaEnum = { name: "com.acme.Color", values: ["RED", "GREEN"] };

export const Everything: JavaClass = {
  name: "com.acme.Everything",
  fields: {
    flag: "boolean",
    byte: "byte",
    short: "short",
    int: "int",
    long: "long",
    float: "float",
    double: "double",
    char: "char",
    text: "java.lang.String",
    boxed: "java.lang.Integer",
    decimal: "java.math.BigDecimal",
    big: "java.math.BigInteger",
    date: "java.util.Date",
    bytes: "[B",
    longs: { list: "java.lang.Long" },
    ints: { array: "int" },
    chars: { array: "char" },
    words: { set: "java.lang.String" },
    counts: { map: ["java.lang.Integer", "java.lang.Long"] },
    labels: { map: ["java.lang.String", "java.lang.String"], record: true },
    user: { class: () => User },
    color: { enum: Color },
    any: "java.lang.Object",
  },
};

export interface ShopClient {
  sayHi(name: string, greeting: string, options?: CallOptions): Promise<string>;
  find(id: long, options?: CallOptions): Promise<User | null>;
  findByName(name: string, options?: CallOptions): Promise<User | null>;
  findBetween(from: int, to: int, options?: CallOptions): Promise<User | null>;
  echo(value: Everything, options?: CallOptions): Promise<Everything>;
  total(prices: readonly double[], options?: CallOptions): Promise<double>;
  reset(options?: CallOptions): Promise<void>;
  count(from: int, to: int, options?: CallOptions): AsyncIterable<int>;
  sum(values: AsyncIterable<long>, options?: CallOptions): Promise<long>;
  upper(values: AsyncIterable<string>, options?: CallOptions): AsyncIterable<string>;
}

export interface ShopHandler {
  sayHi(name: string, greeting: string, context: HandlerContext): string | Promise<string>;
  find(id: long, context: HandlerContext): User | null | Promise<User | null>;
  findByName(name: string, context: HandlerContext): User | null | Promise<User | null>;
  findBetween(from: int, to: int, context: HandlerContext): User | null | Promise<User | null>;
  echo(value: Everything, context: HandlerContext): Everything | Promise<Everything>;
  total(prices: readonly double[], context: HandlerContext): double | Promise<double>;
  reset(context: HandlerContext): void | Promise<void>;
  count(from: int, to: int, context: HandlerContext): AsyncIterable<int>;
  sum(values: AsyncIterable<long>, context: HandlerContext): long | Promise<long>;
  upper(values: AsyncIterable<string>, context: HandlerContext): AsyncIterable<string>;
}

const NAME = "com.acme.Shop";

function method(
  kind: InterfaceMethod["kind"],
  name: string,
  parameters: Readonly<Record<string, JavaType>>,
  result: JavaType,
): InterfaceMethod {
  const signature: Signature = {
    parameters: Object.entries(parameters).map(([parameter, type]) => ({ name: parameter, type })),
    result,
  };
  return { kind, service: NAME, name, path: `/${NAME}/${name}`, payload: interfacePayload, signature };
}

const NULLABLE_USER: JavaType = { class: () => User };

export const ShopDef: ServiceDef<ShopClient, ShopHandler> = {
  typeName: NAME,
  methods: {
    sayHi: method("unary", "sayHi", { name: "java.lang.String", greeting: "java.lang.String" }, "java.lang.String"),
    find: method("unary", "find", { id: "long" }, NULLABLE_USER),
    findByName: method("unary", "find", { name: "java.lang.String" }, NULLABLE_USER),
    findBetween: method("unary", "find", { from: "int", to: "int" }, NULLABLE_USER),
    echo: method("unary", "echo", { value: { class: () => Everything } }, { class: () => Everything }),
    total: method("unary", "total", { prices: { list: "java.lang.Double" } }, "double"),
    reset: method("unary", "reset", {}, "void"),
    count: method("server_streaming", "count", { from: "int", to: "int" }, "java.lang.Integer"),
    sum: method("client_streaming", "sum", { value: "java.lang.Long" }, "java.lang.Long"),
    upper: method("bidi_streaming", "upper", { value: "java.lang.String" }, "java.lang.String"),
  },
};

export function createShopClient(transport: Transport, defaults?: CallDefaults): ShopClient {
  return createInterfaceClient(ShopDef, transport, defaults);
}

export const shop: ShopHandler = {
  sayHi: (name, greeting) => `${greeting}, ${name}!`,
  find(id) {
    if (id < 0n) throw new JavaException("com.acme.NoSuchUserException", `no user ${id}`, { fields: { userId: 7 } });
    return { friends: null, id, age: 1, name: "by id" };
  },
  findByName: (name) => ({ friends: [], id: null, age: 2, name }),
  findBetween: (from, to) => ({ friends: null, id: null, age: to - from, name: "between" }),
  echo: (value) => value,
  total: (prices) => prices.reduce((sum, price) => sum + price, 0),
  reset() {},
  async *count(from, to) {
    for (let i = from; i <= to; i += 1) yield i;
  },
  async sum(values) {
    let sum = 0n;
    for await (const value of values) sum += value;
    return sum;
  },
  async *upper(values) {
    for await (const value of values) yield value.toUpperCase();
  },
};

export const everything: Everything = {
  flag: true,
  byte: -128,
  short: 32_767,
  int: -2_147_483_648,
  long: 9_223_372_036_854_775_807n,
  float: 0.5,
  double: 0.1,
  char: "ß",
  text: "世界 \u{1F600}",
  boxed: null,
  decimal: "12.50",
  big: "-123456789012345678901234567890",
  date: new Date(894_621_091_000),
  bytes: Uint8Array.of(0, 127, 255),
  longs: [1n, 2n ** 60n],
  ints: [1, -1],
  chars: ["h", "i"],
  words: new Set(["one", "two"]),
  counts: new Map([[1, 2n]]),
  labels: { a: "b" },
  user: { friends: null, id: 1n, age: 3, name: null },
  color: "GREEN",
  any: "anything",
};
