/**
 * File names and content types of uploaded parts (RFC 7578, sections 4.2 and 4.4). The fields of a message hold only
 * the bytes of a part, so they are recorded beside the bytes.
 */

/** The file name and content type that a client gave for the bytes of a part. They are not verified. */
export interface Upload {
  /**
   * The file name that the client gave, without validation: it may have slashes, control characters or any length up to
   * 16 KiB. Do not use it as a path. `undefined` for a part without a file name.
   */
  readonly fileName: string | undefined;
  /** The content type that the client gave, such as `image/png`; `undefined` if there is none. */
  readonly contentType: string | undefined;
}

const uploads = new WeakMap<Uint8Array, Upload>();

/**
 * Returns the file name and content type of a `bytes` field that arrived as a part of a multipart body
 * (`multipart/form-data`); `undefined` for all other bytes. Pass the value of the field itself, because a copy of the
 * bytes is not known.
 *
 *     setPhoto: ({ photo }) => save(photo, uploadOf(photo)?.contentType),
 */
export function uploadOf(bytes: Uint8Array): Upload | undefined {
  return uploads.get(bytes);
}

/** Records the file name and content type of the bytes of a part. */
export function noteUpload(bytes: Uint8Array, upload: Upload): void {
  uploads.set(bytes, upload);
}
