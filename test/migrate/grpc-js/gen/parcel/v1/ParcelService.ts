// Original file: test/migrate/proto/parcel/v1/parcel.proto

import type * as grpc from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import type { CountParcelsResponse as _parcel_v1_CountParcelsResponse, CountParcelsResponse__Output as _parcel_v1_CountParcelsResponse__Output } from '../../parcel/v1/CountParcelsResponse';
import type { GetParcelRequest as _parcel_v1_GetParcelRequest, GetParcelRequest__Output as _parcel_v1_GetParcelRequest__Output } from '../../parcel/v1/GetParcelRequest';
import type { Parcel as _parcel_v1_Parcel, Parcel__Output as _parcel_v1_Parcel__Output } from '../../parcel/v1/Parcel';

export interface ParcelServiceClient extends grpc.Client {
  CountParcels(metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_parcel_v1_CountParcelsResponse__Output>): grpc.ClientWritableStream<_parcel_v1_Parcel>;
  CountParcels(metadata: grpc.Metadata, callback: grpc.requestCallback<_parcel_v1_CountParcelsResponse__Output>): grpc.ClientWritableStream<_parcel_v1_Parcel>;
  CountParcels(options: grpc.CallOptions, callback: grpc.requestCallback<_parcel_v1_CountParcelsResponse__Output>): grpc.ClientWritableStream<_parcel_v1_Parcel>;
  CountParcels(callback: grpc.requestCallback<_parcel_v1_CountParcelsResponse__Output>): grpc.ClientWritableStream<_parcel_v1_Parcel>;
  countParcels(metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_parcel_v1_CountParcelsResponse__Output>): grpc.ClientWritableStream<_parcel_v1_Parcel>;
  countParcels(metadata: grpc.Metadata, callback: grpc.requestCallback<_parcel_v1_CountParcelsResponse__Output>): grpc.ClientWritableStream<_parcel_v1_Parcel>;
  countParcels(options: grpc.CallOptions, callback: grpc.requestCallback<_parcel_v1_CountParcelsResponse__Output>): grpc.ClientWritableStream<_parcel_v1_Parcel>;
  countParcels(callback: grpc.requestCallback<_parcel_v1_CountParcelsResponse__Output>): grpc.ClientWritableStream<_parcel_v1_Parcel>;
  
  GetParcel(argument: _parcel_v1_GetParcelRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_parcel_v1_Parcel__Output>): grpc.ClientUnaryCall;
  GetParcel(argument: _parcel_v1_GetParcelRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_parcel_v1_Parcel__Output>): grpc.ClientUnaryCall;
  GetParcel(argument: _parcel_v1_GetParcelRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_parcel_v1_Parcel__Output>): grpc.ClientUnaryCall;
  GetParcel(argument: _parcel_v1_GetParcelRequest, callback: grpc.requestCallback<_parcel_v1_Parcel__Output>): grpc.ClientUnaryCall;
  getParcel(argument: _parcel_v1_GetParcelRequest, metadata: grpc.Metadata, options: grpc.CallOptions, callback: grpc.requestCallback<_parcel_v1_Parcel__Output>): grpc.ClientUnaryCall;
  getParcel(argument: _parcel_v1_GetParcelRequest, metadata: grpc.Metadata, callback: grpc.requestCallback<_parcel_v1_Parcel__Output>): grpc.ClientUnaryCall;
  getParcel(argument: _parcel_v1_GetParcelRequest, options: grpc.CallOptions, callback: grpc.requestCallback<_parcel_v1_Parcel__Output>): grpc.ClientUnaryCall;
  getParcel(argument: _parcel_v1_GetParcelRequest, callback: grpc.requestCallback<_parcel_v1_Parcel__Output>): grpc.ClientUnaryCall;
  
  MoveParcels(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_parcel_v1_Parcel, _parcel_v1_Parcel__Output>;
  MoveParcels(options?: grpc.CallOptions): grpc.ClientDuplexStream<_parcel_v1_Parcel, _parcel_v1_Parcel__Output>;
  moveParcels(metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientDuplexStream<_parcel_v1_Parcel, _parcel_v1_Parcel__Output>;
  moveParcels(options?: grpc.CallOptions): grpc.ClientDuplexStream<_parcel_v1_Parcel, _parcel_v1_Parcel__Output>;
  
  WatchParcels(argument: _parcel_v1_GetParcelRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_parcel_v1_Parcel__Output>;
  WatchParcels(argument: _parcel_v1_GetParcelRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_parcel_v1_Parcel__Output>;
  watchParcels(argument: _parcel_v1_GetParcelRequest, metadata: grpc.Metadata, options?: grpc.CallOptions): grpc.ClientReadableStream<_parcel_v1_Parcel__Output>;
  watchParcels(argument: _parcel_v1_GetParcelRequest, options?: grpc.CallOptions): grpc.ClientReadableStream<_parcel_v1_Parcel__Output>;
  
}

export interface ParcelServiceHandlers extends grpc.UntypedServiceImplementation {
  CountParcels: grpc.handleClientStreamingCall<_parcel_v1_Parcel__Output, _parcel_v1_CountParcelsResponse>;
  
  GetParcel: grpc.handleUnaryCall<_parcel_v1_GetParcelRequest__Output, _parcel_v1_Parcel>;
  
  MoveParcels: grpc.handleBidiStreamingCall<_parcel_v1_Parcel__Output, _parcel_v1_Parcel>;
  
  WatchParcels: grpc.handleServerStreamingCall<_parcel_v1_GetParcelRequest__Output, _parcel_v1_Parcel>;
  
}

export interface ParcelServiceDefinition extends grpc.ServiceDefinition {
  CountParcels: MethodDefinition<_parcel_v1_Parcel, _parcel_v1_CountParcelsResponse, _parcel_v1_Parcel__Output, _parcel_v1_CountParcelsResponse__Output>
  GetParcel: MethodDefinition<_parcel_v1_GetParcelRequest, _parcel_v1_Parcel, _parcel_v1_GetParcelRequest__Output, _parcel_v1_Parcel__Output>
  MoveParcels: MethodDefinition<_parcel_v1_Parcel, _parcel_v1_Parcel, _parcel_v1_Parcel__Output, _parcel_v1_Parcel__Output>
  WatchParcels: MethodDefinition<_parcel_v1_GetParcelRequest, _parcel_v1_Parcel, _parcel_v1_GetParcelRequest__Output, _parcel_v1_Parcel__Output>
}
