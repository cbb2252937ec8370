/** The interface of peers without a proto file: `PlainService.java` next to the programs for Java. */
import type { BigDecimal, byte, char, double, float, int, JavaArray, long, short } from "triple-es-dubbo/java";

/** @service com.example.interop.PlainService */
export interface PlainService {
  greet(name: string): Promise<string>;
  /** @method greet */
  greetTimes(name: string, times: int): Promise<string>;
  primitives(a: boolean, b: byte, c: short, d: int, e: long, f: float, g: double, h: char): Promise<string>;
  increment(value: int): Promise<int>;
  next(value: long): Promise<long>;
  half(value: double): Promise<double>;
  not(value: boolean): Promise<boolean>;
  /** Returns null for null. */
  boxedIncrement(value: int | null): Promise<int | null>;
  /** Returns null for null. */
  boxedNext(value: long | null): Promise<long | null>;
  reverse(values: string[]): Promise<string[]>;
  nextAll(values: long[]): Promise<long[]>;
  upper(values: Set<string>): Promise<Set<string>>;
  lengths(values: Map<string, string>): Promise<Map<string, int>>;
  names(users: User[]): Promise<Map<long, string | null>>;
  nextDay(day: Date): Promise<Date>;
  reverseBytes(bytes: Uint8Array): Promise<Uint8Array>;
  sortInts(values: JavaArray<int>): Promise<JavaArray<int>>;
  sortStrings(values: JavaArray<string>): Promise<JavaArray<string>>;
  total(amounts: BigDecimal[]): Promise<BigDecimal>;
  promote(level: Level): Promise<Level>;
  birthday(user: User): Promise<User>;
  /** Returns a user who is their own manager. */
  boss(name: string): Promise<User>;
  /** Returns its argument unchanged. */
  echo(value: unknown): Promise<unknown>;
  nothing(): Promise<string | null>;
  note(text: string): Promise<void>;
  noted(): Promise<string | null>;
  fail(message: string, reason: int): Promise<string>;
  failUnchecked(message: string): Promise<string>;
}

/**
 * An object with a field of every kind. Its manager may be the user itself.
 *
 * @class com.example.interop.User
 */
export interface User {
  name: string | null;
  age: int;
  id: long;
  score: long | null;
  active: boolean;
  weight: double;
  level: Level | null;
  balance: BigDecimal | null;
  born: Date | null;
  avatar: Uint8Array | null;
  address: Address | null;
  tags: string[] | null;
  places: Map<string, Address> | null;
  manager: User | null;
}

/** @class com.example.interop.Address */
export interface Address {
  street: string | null;
  number: int;
}

/** @enum com.example.interop.Level */
export type Level = "NOVICE" | "EXPERT";
