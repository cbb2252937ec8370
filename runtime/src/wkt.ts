/** Entry point `triple-es/wkt`: codecs of protobuf's well-known types, for codecs that the plugin generates. */
export * from "./gen/google/protobuf/any_codec.ts";
export * from "./gen/google/protobuf/api_codec.ts";
export * from "./gen/google/protobuf/compiler/plugin_codec.ts";
export * from "./gen/google/protobuf/descriptor_codec.ts";
export * from "./gen/google/protobuf/duration_codec.ts";
export * from "./gen/google/protobuf/empty_codec.ts";
export * from "./gen/google/protobuf/field_mask_codec.ts";
export * from "./gen/google/protobuf/source_context_codec.ts";
export * from "./gen/google/protobuf/struct_codec.ts";
export * from "./gen/google/protobuf/timestamp_codec.ts";
export * from "./gen/google/protobuf/type_codec.ts";
export * from "./gen/google/protobuf/wrappers_codec.ts";
