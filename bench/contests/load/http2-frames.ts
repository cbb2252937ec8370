/** Frames of HTTP/2 (RFC 9113) that the load writes and reads. */

export const frameType = { data: 0, headers: 1, rstStream: 3, settings: 4, ping: 6, goAway: 7, windowUpdate: 8 };
export const endStream = 0x1;
export const ack = 0x1;
export const endHeaders = 0x4;

const settingEnablePush = 2;
export const settingInitialWindowSize = 4;

/** Initial window of the connection, and the number of received bytes after which it is opened again. */
export const receiveWindow: number = 2 ** 20;

/** Writes the start of a connection whose streams may receive that many bytes without a WINDOW_UPDATE for the stream. */
export function preface(streamWindow: number): Buffer {
  return Buffer.concat([
    Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    frame(frameType.settings, 0, 0, settings([settingEnablePush, 0], [settingInitialWindowSize, streamWindow])),
    windowUpdate(2 * receiveWindow),
  ]);
}

export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

export function windowUpdate(increment: number): Buffer {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(increment);
  return frame(frameType.windowUpdate, 0, 0, payload);
}

function settings(...pairs: readonly (readonly [identifier: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(6 * pairs.length);
  for (const [index, [identifier, value]] of pairs.entries()) {
    payload.writeUInt16BE(identifier, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  }
  return payload;
}

/** A literal header field without indexing, new name (RFC 7541, 6.2.2): the same bytes on every request. */
export function field(name: string, value: string): Buffer {
  // Strings are shorter than 127 bytes here, so that the length takes one byte.
  const literal = (text: string) => String.fromCharCode(text.length) + text;
  return Buffer.from(`\0${literal(name)}${literal(value)}`, "latin1");
}
