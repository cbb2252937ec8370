export abstract class Message {
  serializeBinary(): Uint8Array;
  cloneMessage(): this;
  clone(): this;
  toObject(): object;
  static toObject(includeInstance: boolean, msg: Message): object;
}
export class BinaryReader {
  constructor(bytes?: Uint8Array);
}
export class BinaryWriter {}
export class ExtensionFieldInfo<T> {
  name: T;
}
export class ExtensionFieldBinaryInfo<T> {
  name: T;
}
export class Map<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): this;
  has(key: K): boolean;
  del(key: K): boolean;
  clear(): void;
  getLength(): number;
  getEntryList(): Array<[K, V]>;
  keys(): IterableIterator<K>;
  forEach(callback: (entry: V, key: K) => void): void;
}
