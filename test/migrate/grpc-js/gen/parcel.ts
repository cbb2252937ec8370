import type * as grpc from '@grpc/grpc-js';
import type { EnumTypeDefinition, MessageTypeDefinition } from '@grpc/proto-loader';

import type { CountParcelsResponse as _parcel_v1_CountParcelsResponse, CountParcelsResponse__Output as _parcel_v1_CountParcelsResponse__Output } from './parcel/v1/CountParcelsResponse';
import type { GetParcelRequest as _parcel_v1_GetParcelRequest, GetParcelRequest__Output as _parcel_v1_GetParcelRequest__Output } from './parcel/v1/GetParcelRequest';
import type { Parcel as _parcel_v1_Parcel, Parcel__Output as _parcel_v1_Parcel__Output } from './parcel/v1/Parcel';
import type { ParcelServiceClient as _parcel_v1_ParcelServiceClient, ParcelServiceDefinition as _parcel_v1_ParcelServiceDefinition } from './parcel/v1/ParcelService';

type SubtypeConstructor<Constructor extends new (...args: any) => any, Subtype> = {
  new(...args: ConstructorParameters<Constructor>): Subtype;
};

export interface ProtoGrpcType {
  parcel: {
    v1: {
      CountParcelsResponse: MessageTypeDefinition<_parcel_v1_CountParcelsResponse, _parcel_v1_CountParcelsResponse__Output>
      GetParcelRequest: MessageTypeDefinition<_parcel_v1_GetParcelRequest, _parcel_v1_GetParcelRequest__Output>
      Parcel: MessageTypeDefinition<_parcel_v1_Parcel, _parcel_v1_Parcel__Output>
      ParcelService: SubtypeConstructor<typeof grpc.Client, _parcel_v1_ParcelServiceClient> & { service: _parcel_v1_ParcelServiceDefinition }
      ParcelState: EnumTypeDefinition
    }
  }
}

