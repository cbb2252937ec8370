export abstract class Message {
  serializeBinary(): Uint8Array;
  cloneMessage(): this;
  clone(): this;
  static toObject(includeInstance: boolean, msg: Message): object;
}
export class BinaryReader {}
export class BinaryWriter {}
export class ExtensionFieldInfo<T> {
  name: T;
}
export class ExtensionFieldBinaryInfo<T> {
  name: T;
}
