/**
 * Frames (RFC 9113, sections 4 and 6): the checks that need only the frame header (type, length, stream id), and the
 * writers of all small frames.
 */

import type { Output } from "../wire/output.ts";
import { ConnectionError, DEFAULT_MAX_FRAME_SIZE, ErrorCode, Flag, FRAME_HEADER_BYTES, FrameType } from "./codes.ts";

/** Rules for the length and stream id of a type of frame. */
interface FrameRule {
  readonly name: string;
  /** The frame belongs to a stream, to the connection (stream id 0), or to either. */
  readonly scope: "stream" | "connection" | "either";
  readonly min: number;
  readonly max: number;
  /** The length of the payload must be a multiple of this number. */
  readonly unit: number;
}

const ANY_LENGTH = DEFAULT_MAX_FRAME_SIZE;

/** The rules by frame type. */
const RULES: readonly FrameRule[] = [
  /* 6.1  */ { name: "DATA", scope: "stream", min: 0, max: ANY_LENGTH, unit: 1 },
  /* 6.2  */ { name: "HEADERS", scope: "stream", min: 0, max: ANY_LENGTH, unit: 1 },
  /* 6.3  */ { name: "PRIORITY", scope: "stream", min: 5, max: 5, unit: 1 },
  /* 6.4  */ { name: "RST_STREAM", scope: "stream", min: 4, max: 4, unit: 1 },
  /* 6.5  */ { name: "SETTINGS", scope: "connection", min: 0, max: ANY_LENGTH, unit: 6 },
  /* 6.6  */ { name: "PUSH_PROMISE", scope: "stream", min: 4, max: ANY_LENGTH, unit: 1 },
  /* 6.7  */ { name: "PING", scope: "connection", min: 8, max: 8, unit: 1 },
  /* 6.8  */ { name: "GOAWAY", scope: "connection", min: 8, max: ANY_LENGTH, unit: 1 },
  /* 6.9  */ { name: "WINDOW_UPDATE", scope: "either", min: 4, max: 4, unit: 1 },
  /* 6.10 */ { name: "CONTINUATION", scope: "stream", min: 0, max: ANY_LENGTH, unit: 1 },
];

/** A complete header block. It is valid during the call that receives it: the receiver has one object for all blocks. */
export interface HeadersFrame {
  readonly streamId: number;
  readonly isEnd: boolean;
  /** The block is in these bytes, from `start` to `end`. */
  readonly bytes: Uint8Array;
  readonly start: number;
  readonly end: number;
  /** The stream that the priority of the frame names; -1 if there is none. */
  readonly dependsOn: number;
}

/** Throws a `ConnectionError` for a frame that is invalid in any state; first for its length, which bounds the read. */
export function checkFrame(type: number, length: number, flags: number, streamId: number): void {
  if (length > DEFAULT_MAX_FRAME_SIZE) {
    throw new ConnectionError(
      ErrorCode.FrameSizeError,
      `a frame of ${length} bytes is larger than SETTINGS_MAX_FRAME_SIZE`,
    );
  }
  // The stream id of DATA and HEADERS is checked when the stream is looked up, except for 0.
  if (type <= FrameType.Headers && streamId !== 0) return;
  const rule = RULES[type];
  if (rule === undefined) return;
  if (rule.scope !== "either" && (streamId === 0) !== (rule.scope === "connection")) {
    const problem = streamId === 0 ? "needs a stream" : "must not have a stream";
    throw new ConnectionError(ErrorCode.ProtocolError, `${rule.name} ${problem}`);
  }
  const isAck = type === FrameType.Settings && (flags & Flag.Ack) !== 0;
  if (length < rule.min || length > (isAck ? 0 : rule.max) || length % rule.unit !== 0) {
    throw new ConnectionError(ErrorCode.FrameSizeError, `${rule.name} must not have ${length} bytes`);
  }
}

export function readUint32(bytes: Uint8Array, at: number): number {
  const high = ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
  return high * 0x1_0000 + (((bytes[at + 2] as number) << 8) | (bytes[at + 3] as number));
}

/** Reads a stream id or increment of 31 bits; the reserved bit before it is ignored. */
export function readUint31(bytes: Uint8Array, at: number): number {
  return (
    (((bytes[at] as number) & 0x7f) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}

export function writeUint32(out: Uint8Array, at: number, value: number): void {
  out[at] = value >>> 24;
  out[at + 1] = value >>> 16;
  out[at + 2] = value >>> 8;
  out[at + 3] = value;
}

/** Writes the nine bytes before a payload. Returns the position after them. */
export function writeFrameHeader(
  out: Uint8Array,
  at: number,
  length: number,
  type: number,
  flags: number,
  streamId: number,
): number {
  out[at] = length >>> 16;
  out[at + 1] = length >>> 8;
  out[at + 2] = length;
  out[at + 3] = type;
  out[at + 4] = flags;
  writeUint32(out, at + 5, streamId);
  return at + FRAME_HEADER_BYTES;
}

/** Writes a frame whose payload consists of 32-bit numbers. */
function writeNumbers(output: Output, type: number, flags: number, streamId: number, values: readonly number[]): void {
  output.reserve(FRAME_HEADER_BYTES + 4 * values.length);
  const { slab } = output;
  let at = writeFrameHeader(slab, output.at, 4 * values.length, type, flags, streamId);
  for (const value of values) {
    writeUint32(slab, at, value);
    at += 4;
  }
  output.commit(at);
}

export function writeRstStream(output: Output, streamId: number, code: number): void {
  writeNumbers(output, FrameType.RstStream, 0, streamId, [code]);
}

export function writeWindowUpdate(output: Output, streamId: number, increment: number): void {
  writeNumbers(output, FrameType.WindowUpdate, 0, streamId, [increment]);
}

/** Writes a PING. `high` and `low` are the upper and lower four bytes of its payload. */
export function writePing(output: Output, isAck: boolean, high: number, low: number): void {
  writeNumbers(output, FrameType.Ping, isAck ? Flag.Ack : 0, 0, [high, low]);
}

export function writeSettingsAck(output: Output): void {
  writeNumbers(output, FrameType.Settings, Flag.Ack, 0, []);
}

export function writeSettings(output: Output, entries: readonly (readonly [id: number, value: number])[]): void {
  const length = 6 * entries.length;
  output.reserve(FRAME_HEADER_BYTES + length);
  const { slab } = output;
  let at = writeFrameHeader(slab, output.at, length, FrameType.Settings, 0, 0);
  for (const [id, value] of entries) {
    slab[at] = id >>> 8;
    slab[at + 1] = id;
    writeUint32(slab, at + 2, value);
    at += 6;
  }
  output.commit(at);
}

/** Maximum length of the debug text in a GOAWAY, sent and received. It is meant for people. */
export const MAX_DEBUG_CHARACTERS = 200;

export function writeGoAway(output: Output, lastStreamId: number, code: number, text: string): void {
  const length = Math.min(text.length, MAX_DEBUG_CHARACTERS);
  output.reserve(FRAME_HEADER_BYTES + 8 + length);
  const { slab } = output;
  const at = writeFrameHeader(slab, output.at, 8 + length, FrameType.GoAway, 0, 0);
  writeUint32(slab, at, lastStreamId);
  writeUint32(slab, at + 4, code);
  for (let i = 0; i < length; i++) slab[at + 8 + i] = text.charCodeAt(i) & 0x7f;
  output.commit(at + 8 + length);
}

/** Writes the frame header of a DATA frame. */
export function writeDataHeader(output: Output, streamId: number, length: number, isEnd: boolean): void {
  output.reserve(FRAME_HEADER_BYTES);
  const flags = isEnd ? Flag.EndStream : 0;
  output.commit(writeFrameHeader(output.slab, output.at, length, FrameType.Data, flags, streamId));
}
