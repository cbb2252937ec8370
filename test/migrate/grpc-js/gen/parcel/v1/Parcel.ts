// Original file: test/migrate/proto/parcel/v1/parcel.proto

import type { ParcelState as _parcel_v1_ParcelState, ParcelState__Output as _parcel_v1_ParcelState__Output } from '../../parcel/v1/ParcelState';
import type { Parcel as _parcel_v1_Parcel, Parcel__Output as _parcel_v1_Parcel__Output } from '../../parcel/v1/Parcel';
import type { Long } from '@grpc/proto-loader';

export interface Parcel {
  'parcel_id'?: (number | string | Long);
  'parcel_state'?: (_parcel_v1_ParcelState);
  'stop_ids'?: (number | string | Long)[];
  'plain_text'?: (string);
  'raw_data'?: (Buffer | Uint8Array | string);
  'inner_parcel'?: (_parcel_v1_Parcel | null);
  'part_weights'?: ({[key: string]: number});
  'content'?: "plain_text"|"raw_data";
}

export interface Parcel__Output {
  'parcel_id': (string);
  'parcel_state': (_parcel_v1_ParcelState__Output);
  'stop_ids': (string)[];
  'plain_text'?: (string);
  'raw_data'?: (Buffer);
  'inner_parcel': (_parcel_v1_Parcel__Output | null);
  'part_weights': ({[key: string]: number});
  'content'?: "plain_text"|"raw_data";
}
