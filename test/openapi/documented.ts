/** A proto file with comments and with fields of every kind, for documents. */
export const DOCUMENTED_PROTO: string = `
edition = "2023";
package shop.v1;
import "google/protobuf/any.proto";
import "google/protobuf/duration.proto";
import "google/protobuf/struct.proto";
import "google/protobuf/timestamp.proto";
import "google/protobuf/wrappers.proto";
option features.field_presence = IMPLICIT;

// Sells things.
service ShopService {
  // Buys a thing. Takes a while.
  //
  // With a second paragraph.
  // buf:lint:ignore RPC_REQUEST_STANDARD_NAME
  rpc Buy(Payment) returns (Everything) {
    option deprecated = true;
  }
  rpc Check(Presence) returns (Presence);
}

// Money.
message Payment {
  oneof means {
    string card = 1;
    // Coins and notes.
    int64 cash = 2 [deprecated = true];
  }
  oneof time {
    bool now = 3;
    google.protobuf.Timestamp later = 4;
  }
}

message Presence {
  string needed = 1 [features.field_presence = LEGACY_REQUIRED];
  string wanted = 2 [features.field_presence = EXPLICIT];
  string plain = 3;
}

message Everything {
  string full_name = 1;
  string odd = 2 [json_name = "odd name"];
  int32 small = 3;
  fixed32 count = 4;
  sint64 big = 5;
  uint64 huge = 6;
  double ratio = 7;
  bytes data = 8;
  Color color = 9;
  repeated string tags = 10;
  repeated Everything children = 11;
  map<string, string> names = 12;
  map<int32, Everything> by_number = 13;
  map<bool, bool> flags = 14;
  google.protobuf.Timestamp time = 15;
  google.protobuf.Duration wait = 16;
  google.protobuf.Int64Value maybe = 17;
  google.protobuf.Any any = 18;
  google.protobuf.NullValue nothing = 19;
}

// Colors of things.
enum Color {
  COLOR_UNSPECIFIED = 0;
  // like a rose.
  COLOR_RED = 1;
  COLOR_OLD = 2 [deprecated = true];
}
`;
