/**
 * A proto file with rules of protovalidate, and the part of `buf/validate/validate.proto` that it uses, with the numbers of
 * the original, which is not on npm.
 */
const NUMBER_RULES = (name: string, type: string): string =>
  `message ${name} { optional ${type} const = 1; oneof less_than { ${type} lt = 2; ${type} lte = 3; }
   oneof greater_than { ${type} gt = 4; ${type} gte = 5; } repeated ${type} in = 6; repeated ${type} not_in = 7; }`;

const VALIDATE_PROTO = `
syntax = "proto2";
package buf.validate;
import "google/protobuf/descriptor.proto";
extend google.protobuf.MessageOptions { optional MessageRules message = 1159; }
extend google.protobuf.OneofOptions { optional OneofRules oneof = 1159; }
extend google.protobuf.FieldOptions { optional FieldRules field = 1159; }
message MessageRules { repeated Rule cel = 3; }
message OneofRules { optional bool required = 1; }
enum Ignore { IGNORE_UNSPECIFIED = 0; IGNORE_IF_ZERO_VALUE = 1; IGNORE_ALWAYS = 3; }
message Rule { optional string id = 1; optional string message = 2; optional string expression = 3; }
message FieldRules {
  repeated Rule cel = 23;
  optional bool required = 25;
  optional Ignore ignore = 27;
  oneof type {
    DoubleRules double = 2; Int32Rules int32 = 3; Int64Rules int64 = 4; UInt32Rules uint32 = 5; BoolRules bool = 13;
    StringRules string = 14; EnumRules enum = 16; RepeatedRules repeated = 18; MapRules map = 19;
  }
}
${NUMBER_RULES("DoubleRules", "double")}
${NUMBER_RULES("Int32Rules", "int32")}
${NUMBER_RULES("Int64Rules", "int64")}
${NUMBER_RULES("UInt32Rules", "uint32")}
message BoolRules { optional bool const = 1; }
message StringRules {
  optional string const = 1; optional uint64 min_len = 2; optional uint64 max_len = 3; optional string pattern = 6;
  optional string prefix = 7; optional string suffix = 8; optional string contains = 9;
  repeated string in = 10; repeated string not_in = 11; optional uint64 len = 19; optional string not_contains = 23;
  oneof well_known { bool email = 12; bool ip = 14; bool uri = 17; bool uuid = 22; }
  repeated string example = 34;
}
message EnumRules { optional int32 const = 1; optional bool defined_only = 2; repeated int32 in = 3; repeated int32 not_in = 4; }
message RepeatedRules {
  optional uint64 min_items = 1; optional uint64 max_items = 2; optional bool unique = 3; optional FieldRules items = 4;
}
message MapRules {
  optional uint64 min_pairs = 1; optional uint64 max_pairs = 2; optional FieldRules keys = 4; optional FieldRules values = 5;
}
`;

/** The fields of the request `Order`, with their rules. */
const FIELDS: readonly (readonly [type: string, name: string, rules: string])[] = [
  ["string", "short", "string = {min_len: 1, max_len: 3}"],
  ["string", "exact", "string.len = 4"],
  ["string", "sku", 'string.pattern = "^[A-Z]{3}-(?:\\\\d{4}|x)+$"'],
  ["string", "long_word", 'string = {pattern: "^[a-z]+$", min_len: 8}'],
  ["string", "given", 'string = {pattern: "^(?i)odd$", example: "ODD"}'],
  ["string", "wrapped", 'string = {prefix: "a/", suffix: ".b", contains: "mid", not_contains: "no"}'],
  ["string", "email", "string.email = true"],
  ["string", "maybe_email", "ignore = IGNORE_IF_ZERO_VALUE, (buf.validate.field).string.email = true"],
  ["string", "unchecked", "ignore = IGNORE_ALWAYS, (buf.validate.field).string.min_len = 5"],
  ["string", "uuid", "string.uuid = true"],
  ["string", "uri", "string.uri = true"],
  ["string", "ip", "string.ip = true"],
  ["string", "choice", 'string = {in: ["a", "b"]}'],
  ["string", "needed", "required = true"],
  ["optional string", "wanted", "string.min_len = 1"],
  ["int32", "quantity", "int32 = {gte: 1, lte: 99}"],
  ["int32", "outside", "int32 = {gt: 10, lt: 5}"],
  ["int64", "id", "int64.gt = 0"],
  ["uint32", "age", "uint32 = {gte: 18, not_in: [18, 19]}"],
  ["double", "ratio", "double = {gt: 0, lt: 1}"],
  ["bool", "agreed", "bool.const = true"],
  ["Color", "color", "enum = {defined_only: true, not_in: [0]}"],
  ["Color", "paint", "required = true"],
  ["repeated string", "tags", "repeated = {min_items: 2, max_items: 3, items: {string: {min_len: 2}}}"],
  ["repeated Item", "items", "repeated.min_items = 1"],
  ["repeated Color", "colors", "repeated = {min_items: 1, items: {enum: {in: [1]}}}"],
  ["map<string, int32>", "limits", "map = {min_pairs: 1, keys: {string: {min_len: 1}}, values: {int32: {gte: 5}}}"],
  ["Item", "first", "required = true"],
  ["google.protobuf.StringValue", "label", "string.min_len = 1"],
];

/** Proto files by path. */
export const RULED: Readonly<Record<string, string>> = {
  "buf/validate/validate.proto": VALIDATE_PROTO,
  "orders/v1/orders.proto": `
syntax = "proto3";
package orders.v1;
import "buf/validate/validate.proto";
import "google/protobuf/descriptor.proto";
import "google/protobuf/wrappers.proto";
message JsonName { string string = 1; }
extend google.protobuf.EnumValueOptions { JsonName json = 998; }
service OrderService { rpc Place(Order) returns (Placed); }
message Order {
${FIELDS.map(([type, name, rules], index) => `  ${type} ${name} = ${index + 1} [(buf.validate.field).${rules}];`).join("\n")}
  oneof payment {
    option (buf.validate.oneof).required = true;
    string card = 100;
    int64 cash = 101 [(buf.validate.field).int64.gt = 0];
  }
}
message Item { string name = 1 [(buf.validate.field).string.min_len = 1]; }
message Placed { string id = 1; }
enum Color { COLOR_UNSPECIFIED = 0 [(json).string = "none"]; COLOR_RED = 1; COLOR_BLUE = 2; }
`,
};
