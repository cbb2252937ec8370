/**
 * A proxy that records the traffic between client and server. Bodies are shown as they are, and binary messages also as
 * JSON.
 */
import { type DescMessage, fromBinary, toJsonString } from "@bufbuild/protobuf";
import { GreetServiceDef } from "../gen/greet/v1/greet_triple.ts";
import { quiet, received, sent } from "./paint.ts";

export type Direction = "sent" | "received";

/** A proxy that takes notes. */
export interface Recorder {
  /** The address for clients. */
  readonly baseUrl: string;
  /** Returns the traffic recorded since the last call, once no exchange is running. */
  take(): Promise<string[]>;
  close(): Promise<void>;
}

/** One line of the transcript. */
export function line(direction: Direction, text: string): string {
  return direction === "sent" ? sent(`  > ${text}`) : received(`  < ${text}`);
}

/** The message that a body or an envelope carries, for the eye: JSON is text already, binary messages become it. */
export function showMessage(bytes: Uint8Array, contentType: string, path: string, direction: Direction): string {
  if (contentType.endsWith("json")) return Buffer.from(bytes).toString();
  const hex = bytes.byteLength === 0 ? "(no bytes)" : Buffer.from(bytes).toString("hex");
  const type = messageType(path, direction);
  return type === undefined ? hex : `${hex}  ${quiet(toJsonString(type, fromBinary(type, bytes)))}`;
}

function messageType(path: string, direction: Direction): DescMessage | undefined {
  const method = Object.values(GreetServiceDef.methods).find((one) => one.path === path);
  return direction === "sent" ? method?.input : method?.output;
}
