import { Message } from "google-protobuf";

export class Struct extends Message {
  static fromJavaScript(value: { [key: string]: unknown }): Struct;
  toJavaScript(): { [key: string]: unknown };
}

export class Value extends Message {
  static fromJavaScript(value: unknown): Value;
  toJavaScript(): unknown;
}
