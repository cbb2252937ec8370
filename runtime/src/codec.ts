/** Entry point `triple-es/codec`: the functions that codecs generated with `codecs=true` import. */
export * from "./codec/binary/generated.ts";
