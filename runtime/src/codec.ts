/**
 * Entry point `triple-es/codec`: the functions that codecs generated with `codecs=true` import.
 *
 * @module triple-es/codec
 */
export * from "./codec/binary/generated.ts";
