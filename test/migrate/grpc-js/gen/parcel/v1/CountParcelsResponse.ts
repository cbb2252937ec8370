// Original file: test/migrate/proto/parcel/v1/parcel.proto

import type { Long } from '@grpc/proto-loader';

export interface CountParcelsResponse {
  'total_count'?: (number | string | Long);
}

export interface CountParcelsResponse__Output {
  'total_count': (string);
}
