import { Message } from "google-protobuf";

export class Timestamp extends Message {
  toDate(): Date;
  fromDate(value: Date): void;
  static fromDate(value: Date): Timestamp;
}
