/**
 * Reads raw data from the bytes of Hessian 2. Each reader reads one value, because references and classes are numbered per
 * value.
 *
 * The comment above each function is its grammar from the Hessian 2.0 specification; `b0` is the lowest byte. The compact
 * double of four bytes is a number of thousandths, as in all implementations; the specification calls it a float.
 */
import { concat } from "triple-es/internal";
import { ByteCursor } from "../bytes.ts";
import { type Cost, LEAF, limitError, OBJECT } from "../cost.ts";
import { ClassDefinition, RawList, RawMap, RawObject, type RawValue, type ResolvedHessian2Limits } from "./raw.ts";

/** Reads the bytes of exactly one value. Throws for malformed data and for data that exceeds the limits. */
export function readHessian2(bytes: Uint8Array, limits: ResolvedHessian2Limits, cost: Cost): RawValue {
  return new Reader(bytes, limits, cost).readAll();
}

const END = 0x5a; // 'Z'

class Reader {
  readonly #bytes: ByteCursor;
  readonly #limits: ResolvedHessian2Limits;
  readonly #references: (RawList | RawMap | RawObject)[] = [];
  readonly #types: string[] = [];
  readonly #classes: ClassDefinition[] = [];
  readonly #cost: Cost;
  #depth = 0;

  constructor(bytes: Uint8Array, limits: ResolvedHessian2Limits, cost: Cost) {
    this.#bytes = new ByteCursor(bytes);
    this.#limits = limits;
    this.#cost = cost;
  }

  readAll(): RawValue {
    const value = this.#value();
    if (this.#bytes.left > 0) throw new Error(`the value ends at byte ${this.#bytes.offset}, but data follows`);
    return value;
  }

  /** Reads a value after the class definitions that precede it. */
  #value(): RawValue {
    let tag = this.#bytes.uint8();
    for (; tag === CLASS; tag = this.#bytes.uint8()) this.#defineClass();
    if (isContainer(tag)) return this.#container(tag);
    this.#cost.add(isBinary(tag) || isDate(tag) ? OBJECT : LEAF);
    return this.#leaf(tag);
  }

  /** Reads a value that contains no others, after its first byte. */
  #leaf(tag: number): RawValue {
    if (tag === 0x4e) return null;
    if (tag === 0x54 || tag === 0x46) return tag === 0x54;
    if (isDate(tag)) return this.#date(tag);
    if (tag === 0x51) return this.#reference();
    if (isString(tag)) return this.#string(tag);
    if (isBinary(tag)) return this.#binary(tag);
    const number = isInt(tag) ? this.#int(tag) : (this.#long(tag) ?? this.#double(tag));
    if (number !== undefined) return number;
    throw this.#unexpected(tag, "a value");
  }

  //     int ::= 'I' b3 b2 b1 b0 | [x80-xbf] | [xc0-xcf] b0 | [xd0-xd7] b1 b0
  #int(tag: number): number {
    if (tag === 0x49) return this.#bytes.int32();
    if (tag < 0xc0) return tag - 0x90;
    if (tag < 0xd0) return ((tag - 0xc8) << 8) | this.#bytes.uint8();
    return ((tag - 0xd4) << 16) | this.#bytes.uint16();
  }

  //     long ::= 'L' b7 .. b0 | [xd8-xef] | [xf0-xff] b0 | [x38-x3f] b1 b0 | x59 b3 b2 b1 b0
  #long(tag: number): bigint | undefined {
    if (tag === 0x4c) return this.#bytes.int64();
    if (tag === 0x59) return BigInt(this.#bytes.int32());
    if (tag >= 0xf0) return BigInt(((tag - 0xf8) << 8) | this.#bytes.uint8());
    if (tag >= 0xd8) return BigInt(tag - 0xe0);
    if (tag >= 0x38 && tag < 0x40) return BigInt(((tag - 0x3c) << 16) | this.#bytes.uint16());
    return undefined;
  }

  //     double ::= 'D' b7 .. b0 | x5b | x5c | x5d b0 | x5e b1 b0 | x5f b3 b2 b1 b0
  #double(tag: number): number | undefined {
    if (tag === 0x44) return this.#bytes.float64();
    if (tag === 0x5b) return 0;
    if (tag === 0x5c) return 1;
    if (tag === 0x5d) return this.#bytes.int8();
    if (tag === 0x5e) return this.#bytes.int16();
    if (tag === 0x5f) return this.#bytes.int32() * 0.001;
    return undefined;
  }

  //     date ::= x4a b7 .. b0 | x4b b3 b2 b1 b0     ; milliseconds, minutes
  #date(tag: number): Date {
    const date = new Date(tag === 0x4a ? Number(this.#bytes.int64()) : this.#bytes.int32() * 60_000);
    if (Number.isNaN(date.getTime())) throw new Error("a date is outside the range of JavaScript");
    return date;
  }

  //     string ::= x52 b1 b0 <text> string | 'S' b1 b0 <text> | [x00-x1f] <text> | [x30-x33] b0 <text>
  #string(first: number): string {
    let text = "";
    let tag = first;
    for (; tag === 0x52; tag = this.#bytes.uint8()) {
      this.#cost.add(LEAF);
      text += this.#bytes.text(this.#bytes.uint16());
    }
    if (tag === 0x53) return text + this.#bytes.text(this.#bytes.uint16());
    if (tag < 0x20) return text + this.#bytes.text(tag);
    if (tag >= 0x30 && tag < 0x34) return text + this.#bytes.text(((tag - 0x30) << 8) | this.#bytes.uint8());
    throw this.#unexpected(tag, "the rest of a string");
  }

  //     binary ::= x41 b1 b0 <data> binary | 'B' b1 b0 <data> | [x20-x2f] <data> | [x34-x37] b0 <data>
  #binary(first: number): Uint8Array {
    const chunks: Uint8Array[] = [];
    let length = 0;
    let tag = first;
    for (; tag === 0x41; tag = this.#bytes.uint8()) {
      // Each chunk takes memory, however few bytes it has.
      this.#cost.add(LEAF);
      const chunk = this.#bytes.take(this.#bytes.uint16());
      chunks.push(chunk);
      length += chunk.byteLength;
    }
    const last = this.#lastChunk(tag);
    if (chunks.length === 0) return new Uint8Array(last);
    return concat([...chunks, last], length + last.byteLength);
  }

  #lastChunk(tag: number): Uint8Array {
    if (tag === 0x42) return this.#bytes.take(this.#bytes.uint16());
    if (tag >= 0x20 && tag < 0x30) return this.#bytes.take(tag - 0x20);
    if (tag >= 0x34 && tag < 0x38) return this.#bytes.take(((tag - 0x34) << 8) | this.#bytes.uint8());
    throw this.#unexpected(tag, "the rest of bytes");
  }

  #container(tag: number): RawValue {
    this.#cost.add(OBJECT);
    this.#depth += 1;
    if (this.#depth > this.#limits.maxDepth) throw limitError("levels", this.#limits.maxDepth);
    const value = this.#list(tag) ?? this.#map(tag) ?? this.#object(tag);
    this.#depth -= 1;
    return value;
  }

  //     list ::= x55 type value* 'Z' | 'V' type int value* | x57 value* 'Z' | x58 int value*
  //            | [x70-x77] type value* | [x78-x7f] value*
  #list(tag: number): RawList | undefined {
    if (tag === 0x55) return this.#items(this.#type(), undefined);
    if (tag === 0x56) return this.#items(this.#type(), this.#length());
    if (tag === 0x57) return this.#items(undefined, undefined);
    if (tag === 0x58) return this.#items(undefined, this.#length());
    if (tag >= 0x70 && tag < 0x78) return this.#items(this.#type(), tag - 0x70);
    if (tag >= 0x78 && tag < 0x80) return this.#items(undefined, tag - 0x78);
    return undefined;
  }

  /** Reads the items of a list. No memory is allocated by the announced length, because a peer could announce any number. */
  #items(type: string | undefined, length: number | undefined): RawList {
    const list = this.#open(new RawList(type));
    for (let i = 0; length === undefined ? !this.#atEnd() : i < length; i += 1) list.items.push(this.#value());
    return list;
  }

  //     map ::= 'M' type (value value)* 'Z' | 'H' (value value)* 'Z'
  #map(tag: number): RawMap | undefined {
    if (tag !== 0x4d && tag !== 0x48) return undefined;
    const map = this.#open(new RawMap(tag === 0x4d ? this.#type() : undefined));
    while (!this.#atEnd()) {
      this.#cost.add(1);
      map.entries.push(this.#value(), this.#value());
    }
    return map;
  }

  //     object ::= 'O' int value* | [x60-x6f] value*
  #object(tag: number): RawObject {
    const index = tag === 0x4f ? this.#length() : tag - 0x60;
    const definition = this.#classes[index];
    if (definition === undefined) throw new Error(`class ${index} is used, but ${this.#classes.length} are defined`);
    const object = this.#open(new RawObject(definition));
    for (let i = 0; i < definition.fields.length; i += 1) object.values.push(this.#value());
    return object;
  }

  //     class-def ::= 'C' string int string*
  #defineClass(): void {
    const { maxClasses } = this.#limits;
    if (this.#classes.length >= maxClasses) throw limitError("classes", maxClasses);
    const name = this.#name();
    const length = this.#length();
    const fields: string[] = [];
    for (let i = 0; i < length; i += 1) fields.push(this.#name());
    this.#classes.push(new ClassDefinition(name, fields));
  }

  //     type ::= string | int        ; an int is the index of a type that was named before
  #type(): string {
    if (isString(this.#bytes.peek())) {
      const type = this.#name();
      this.#types.push(type);
      return type;
    }
    const index = this.#length();
    const type = this.#types[index];
    if (type === undefined) throw new Error(`type ${index} is used, but ${this.#types.length} are named`);
    return type;
  }

  //     ref ::= x51 int              ; index of a list, map or object, from 0, in the order of their first bytes
  #reference(): RawValue {
    const index = this.#length();
    const value = this.#references[index];
    if (value === undefined) throw new Error(`reference ${index} does not exist: there are ${this.#references.length}`);
    return value;
  }

  /** Registers a container before its contents, because they may refer to it. */
  #open<T extends RawList | RawMap | RawObject>(container: T): T {
    this.#references.push(container);
    return container;
  }

  #atEnd(): boolean {
    if (this.#bytes.peek() !== END) return false;
    this.#bytes.uint8();
    return true;
  }

  /** Reads the name of a type, a class or a field, which counts like an entry of a map. */
  #name(): string {
    const tag = this.#bytes.uint8();
    if (!isString(tag)) throw this.#unexpected(tag, "a string");
    this.#cost.add(1);
    return this.#string(tag);
  }

  #length(): number {
    const tag = this.#bytes.uint8();
    const length = isInt(tag) ? this.#int(tag) : -1;
    if (length < 0) throw this.#unexpected(tag, "a length or a number of something before");
    return length;
  }

  #unexpected(tag: number, wanted: string): Error {
    const shown = `0x${tag.toString(16).padStart(2, "0")}`;
    return new Error(`byte ${this.#bytes.offset - 1} is ${shown}, where ${wanted} should begin`);
  }
}

/** The tag of a class definition, which may precede any value. */
const CLASS = 0x43;

const isContainer = (tag: number): boolean =>
  (tag >= 0x55 && tag < 0x59) || tag === 0x48 || tag === 0x4d || tag === 0x4f || (tag >= 0x60 && tag < 0x80);
const isDate = (tag: number): boolean => tag === 0x4a || tag === 0x4b;
const isInt = (tag: number): boolean => tag === 0x49 || (tag >= 0x80 && tag < 0xd8);
const isString = (tag: number): boolean => tag < 0x20 || (tag >= 0x30 && tag < 0x34) || tag === 0x52 || tag === 0x53;
const isBinary = (tag: number): boolean =>
  (tag >= 0x20 && tag < 0x30) || (tag >= 0x34 && tag < 0x38) || tag === 0x41 || tag === 0x42;
