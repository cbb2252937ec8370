// package: stock.v1
// file: stock/v1/stock.proto

import * as jspb from "google-protobuf";

export class Stock extends jspb.Message {
  getSku(): number;
  setSku(value: number): void;

  hasLimit(): boolean;
  clearLimit(): void;
  getLimit(): number;
  setLimit(value: number): void;

  clearLotsList(): void;
  getLotsList(): Array<number>;
  setLotsList(value: Array<number>): void;
  addLots(value: number, index?: number): number;

  getPlace(): number;
  setPlace(value: number): void;

  getPrice(): string;
  setPrice(value: string): void;

  getLabelsMap(): jspb.Map<string, string>;
  clearLabelsMap(): void;
  getOthersMap(): jspb.Map<string, Stock>;
  clearOthersMap(): void;

  getRoadMap(): string;
  setRoadMap(value: string): void;

  hasNext(): boolean;
  clearNext(): void;
  getNext(): Stock | undefined;
  setNext(value?: Stock): void;

  getState(): StateMap[keyof StateMap];
  setState(value: StateMap[keyof StateMap]): void;
  getKind(): Stock.KindMap[keyof Stock.KindMap];
  setKind(value: Stock.KindMap[keyof Stock.KindMap]): void;

  hasPallet(): boolean;
  clearPallet(): void;
  getPallet(): Stock | undefined;
  setPallet(value?: Stock): void;

  hasCount(): boolean;
  clearCount(): void;
  getCount(): number;
  setCount(value: number): void;

  getSizeCase(): Stock.SizeCase;
  toObject(includeInstance?: boolean): Stock.AsObject;
}

export namespace Stock {
  export type AsObject = {
    place: number,
    lotsList: Array<number>,
    nextList: string,
  }

  export interface KindMap {
    BOX: 0;
    BAG: 1;
  }

  export const Kind: KindMap;

  export enum SizeCase {
    SIZE_NOT_SET = 0,
    PALLET = 9,
    COUNT = 10,
  }
}

export interface StateMap {
  STATE_UNSPECIFIED: 0;
  STATE_SOLD: 1;
}

export const State: StateMap;
