/** Entry point `triple-es/codec`: what codecs import that are generated with `codecs=true`. */
export * from "./codec/binary/generated.ts";
