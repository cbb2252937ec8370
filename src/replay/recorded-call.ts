/** The lines of a recording, which `recordCalls` of `triple-es/node` writes. */
import { REDACTED } from "../../runtime/src/observe/redaction.ts";

export interface RecordedCall {
  readonly method: string;
  readonly kind: "unary" | "server_streaming" | "client_streaming" | "bidi_streaming";
  readonly selector: { readonly version?: string; readonly group?: string };
  readonly headers: Readonly<Record<string, string>>;
  readonly requests: readonly object[];
  readonly responses: readonly object[];
  readonly code: string;
  readonly message?: string;
  readonly details?: readonly string[];
  readonly omitted?: number;
  readonly payload?: "wrapped";
}

const KINDS: readonly unknown[] = ["unary", "server_streaming", "client_streaming", "bidi_streaming"];

/** Reads a line. Returns `undefined` for one that is no call, such as one that was cut off, and `end` for the last one. */
export function readLine(line: string): RecordedCall | "end" | undefined {
  let value: Partial<Record<keyof RecordedCall | "end", unknown>>;
  try {
    value = Object(JSON.parse(line));
  } catch {
    return undefined;
  }
  if (value.end !== undefined) return "end";
  const { method, kind, requests, responses, headers, selector } = value;
  const isCall =
    typeof method === "string" &&
    KINDS.includes(kind) &&
    Array.isArray(requests) &&
    Array.isArray(responses) &&
    [headers, selector].every((one) => Object.values(Object(one)).every((text) => typeof text === "string"));
  return isCall ? ({ ...value, headers: Object(headers), selector: Object(selector) } as RecordedCall) : undefined;
}

/** Returns the reason why a call cannot be repeated; `undefined` if it can. */
export function obstacleOf({ kind, requests, omitted, code, payload }: RecordedCall): string | undefined {
  if (payload !== undefined) return "of a Java interface";
  if (omitted !== undefined) return "with messages that were not recorded";
  if (code === "canceled" || code === "deadline_exceeded") return "that ended early";
  if ((kind === "unary" || kind === "server_streaming") && requests.length === 0) return "without a request";
  if (JSON.stringify(requests).includes(`"${REDACTED}"`)) return "with masked fields in the request";
  return undefined;
}
