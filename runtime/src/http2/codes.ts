/**
 * The registries of RFC 9113: frame types (section 6), flags, error codes (section 7) and settings (section 6.5.2).
 */

export const FrameType = {
  Data: 0x0,
  Headers: 0x1,
  Priority: 0x2,
  RstStream: 0x3,
  Settings: 0x4,
  PushPromise: 0x5,
  Ping: 0x6,
  GoAway: 0x7,
  WindowUpdate: 0x8,
  Continuation: 0x9,
} as const;

export const Flag = {
  /** On DATA and HEADERS. */
  EndStream: 0x1,
  /** On SETTINGS and PING. */
  Ack: 0x1,
  EndHeaders: 0x4,
  Padded: 0x8,
  Priority: 0x20,
} as const;

export const ErrorCode = {
  NoError: 0x0,
  ProtocolError: 0x1,
  InternalError: 0x2,
  FlowControlError: 0x3,
  SettingsTimeout: 0x4,
  StreamClosed: 0x5,
  FrameSizeError: 0x6,
  RefusedStream: 0x7,
  Cancel: 0x8,
  CompressionError: 0x9,
  ConnectError: 0xa,
  EnhanceYourCalm: 0xb,
  InadequateSecurity: 0xc,
  Http11Required: 0xd,
} as const;

export const Setting = {
  HeaderTableSize: 0x1,
  EnablePush: 0x2,
  MaxConcurrentStreams: 0x3,
  InitialWindowSize: 0x4,
  MaxFrameSize: 0x5,
  MaxHeaderListSize: 0x6,
  /** RFC 8441, section 3. */
  EnableConnectProtocol: 0x8,
  /** RFC 9218, section 2.1. */
  NoRfc7540Priorities: 0x9,
} as const;

/** The largest window (RFC 9113, section 6.9.1), stream id (5.1.1) and increment. */
export const MAX_31_BITS = 0x7fff_ffff;

/** The stream ids after which a connection is replaced, or receives GOAWAY, before they run out (RFC 9113, section 5.1.1). */
export const LAST_STREAM_ID: number = 1.5 * 2 ** 30;

/** The smallest SETTINGS_MAX_FRAME_SIZE, which is the default (RFC 9113, section 6.5.2). */
export const DEFAULT_MAX_FRAME_SIZE = 16_384;

/** Windows and header tables before any SETTINGS (RFC 9113, section 6.5.2). */
export const DEFAULT_WINDOW_SIZE = 65_535;
export const DEFAULT_HEADER_TABLE_SIZE = 4_096;

/** The length, type, flags and stream id in front of every payload (RFC 9113, section 4.1). */
export const FRAME_HEADER_BYTES = 9;

/** A connection error (RFC 9113, section 5.4.1). The engine never throws it to its user. */
export class ConnectionError extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}
