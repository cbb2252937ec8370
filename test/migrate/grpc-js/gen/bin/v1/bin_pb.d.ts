// package: bin.v1
// file: bin/v1/bin.proto

import * as jspb from "google-protobuf";

export class Bin extends jspb.Message {
  getTagsMap(): jspb.Map<string, Tags>;
  getShelfid(): number;
  setShelfid(value: number): Bin;
  getToplevel(): Level;
  setToplevel(value: Level): Bin;
  hasItemname(): boolean;
  clearItemname(): void;
  getItemname(): string;
  setItemname(value: string): Bin;
  hasItemcount(): boolean;
  clearItemcount(): void;
  getItemcount(): number;
  setItemcount(value: number): Bin;
  getParts(): Bin.Parts;
  setParts(value: Bin.Parts): Bin;
  getFillCase(): Bin.FillCase;
}

export namespace Bin {
  export type AsObject = {
    shelfid: number,
    toplevel: Level,
  }

  export enum Parts {
    PARTS_NONE = 0,
    PARTS_ONEHALF = 1,
  }

  export enum FillCase {
    FILL_NOT_SET = 0,
    ITEMNAME = 3,
    ITEMCOUNT = 4,
  }
}

export enum Level {
  LOW = 0,
  HIGHUP = 1,
}

export class Tags extends jspb.Message {
  getWordList(): Array<string>;
  setWordList(value: Array<string>): Tags;
}
