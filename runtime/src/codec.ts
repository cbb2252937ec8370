/**
 * Entry point `triple-es/codec`: the functions that generated codecs import.
 *
 * @module triple-es/codec
 */
export * from "./codec/binary/generated.ts";
