import { Message } from "google-protobuf";

export class Any extends Message {
  getTypeName(): string;
  unpack<T>(deserialize: (bytes: Uint8Array) => T, name: string): T | null;
}
