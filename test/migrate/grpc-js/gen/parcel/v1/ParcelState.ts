// Original file: test/migrate/proto/parcel/v1/parcel.proto

export const ParcelState = {
  PARCEL_STATE_UNSPECIFIED: 'PARCEL_STATE_UNSPECIFIED',
  PARCEL_STATE_MOVING: 'PARCEL_STATE_MOVING',
} as const;

export type ParcelState =
  | 'PARCEL_STATE_UNSPECIFIED'
  | 0
  | 'PARCEL_STATE_MOVING'
  | 1

export type ParcelState__Output = typeof ParcelState[keyof typeof ParcelState]
