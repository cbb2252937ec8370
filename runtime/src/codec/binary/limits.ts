/** Limits and sizes of the binary format's codecs. They have a file without imports, so that esbuild inlines them. */

/** Messages that are nested deeper than this are rejected, as in protobuf-es and protobuf's own implementations. */
export const RECURSION_LIMIT = 100;
/** Strings up to this length are encoded character by character, which is faster than a call of the platform. */
export const SHORT_STRING = 40;
/** Text up to this length in bytes is decoded byte by byte, for the same reason. */
export const SHORT_UTF8 = 36;
/** Maximum length of a tag and a varint after it: five bytes, and ten of a negative or 64-bit number. */
export const MAX_TAG_AND_VARINT = 15;
/** Number of map keys that are remembered: a power of two. */
export const KEYS = 256;
/** Longer keys are not remembered. */
export const LONGEST_KEY = 32;
