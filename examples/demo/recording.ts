/**
 * A proxy that records the traffic between client and server. Bodies are shown unchanged, and binary messages also as JSON.
 */
import { type DescMessage, fromBinary, toJsonString } from "@bufbuild/protobuf";
import { GreetServiceDef } from "../gen/greet/v1/greet_triple.ts";
import { quiet, received, sent } from "./paint.ts";

export type Direction = "sent" | "received";

/** A recording proxy. */
export interface Recorder {
  /** The base URL for clients. */
  readonly baseUrl: string;
  /** Returns the traffic recorded since the last call, as soon as no exchange is running. */
  take(): Promise<string[]>;
  close(): Promise<void>;
}

/** One line of the transcript. */
export function line(direction: Direction, text: string): string {
  return direction === "sent" ? sent(`  > ${text}`) : received(`  < ${text}`);
}

/** Returns the message of a body or an envelope as text: JSON unchanged, binary messages as JSON. */
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
