/**
 * SETTINGS (RFC 9113, section 6.5): the settings of the peer.
 */
import {
  ConnectionError,
  DEFAULT_MAX_FRAME_SIZE,
  DEFAULT_WINDOW_SIZE,
  ErrorCode,
  MAX_31_BITS,
  Setting,
} from "./codes.ts";
import { readUint32 } from "./frame.ts";
import { MAX_SETTINGS } from "./limits.ts";

const ENTRY_BYTES = 6;
const MAX_MAX_FRAME_SIZE: number = 2 ** 24 - 1;

/** The settings of the peer that are used, with the defaults that apply until it has sent them (RFC 9113, section 6.5.2). */
export class PeerSettings {
  maxStreams: number = MAX_31_BITS;
  windowSize: number = DEFAULT_WINDOW_SIZE;
  maxHeaderListSize: number = MAX_31_BITS;
  readonly #isFromServer: boolean;

  constructor(isFromServer: boolean) {
    this.#isFromServer = isFromServer;
  }

  /** Applies the entries of a frame in order; none, and throws a `ConnectionError`, if one is illegal. */
  apply(bytes: Uint8Array, start: number, end: number, onTableSize: (size: number) => void): void {
    if ((end - start) / ENTRY_BYTES > MAX_SETTINGS) {
      throw new ConnectionError(ErrorCode.EnhanceYourCalm, `more than ${MAX_SETTINGS} settings in a frame`);
    }
    for (let at = start; at < end; at += ENTRY_BYTES) this.#check(idAt(bytes, at), readUint32(bytes, at + 2));
    for (let at = start; at < end; at += ENTRY_BYTES) {
      const value = readUint32(bytes, at + 2);
      switch (idAt(bytes, at)) {
        case Setting.HeaderTableSize:
          // Reported immediately, not after the last entry: an encoder must know every intermediate size.
          onTableSize(value);
          break;
        case Setting.MaxConcurrentStreams:
          this.maxStreams = value;
          break;
        case Setting.InitialWindowSize:
          this.windowSize = value;
          break;
        case Setting.MaxHeaderListSize:
          this.maxHeaderListSize = value;
          break;
        default:
        // Unknown settings are ignored (RFC 9113, section 6.5.2). No frame exceeds the smallest SETTINGS_MAX_FRAME_SIZE.
      }
    }
  }

  #check(id: number, value: number): void {
    if (id === Setting.EnablePush && (value > 1 || (value === 1 && this.#isFromServer))) {
      throw new ConnectionError(ErrorCode.ProtocolError, `SETTINGS_ENABLE_PUSH must not be ${value}`);
    }
    if (id === Setting.InitialWindowSize && value > MAX_31_BITS) {
      throw new ConnectionError(ErrorCode.FlowControlError, `SETTINGS_INITIAL_WINDOW_SIZE must not be ${value}`);
    }
    if (id === Setting.MaxFrameSize && !(value >= DEFAULT_MAX_FRAME_SIZE && value <= MAX_MAX_FRAME_SIZE)) {
      throw new ConnectionError(ErrorCode.ProtocolError, `SETTINGS_MAX_FRAME_SIZE must not be ${value}`);
    }
  }
}

function idAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at] as number) << 8) | (bytes[at + 1] as number);
}
