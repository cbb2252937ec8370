// Original file: test/migrate/proto/parcel/v1/parcel.proto

import type { Long } from '@grpc/proto-loader';

export interface GetParcelRequest {
  'parcel_id'?: (number | string | Long);
}

export interface GetParcelRequest__Output {
  'parcel_id': (string);
}
