// package: eliza.v1
// file: eliza/v1/eliza.proto

/* tslint:disable */
/* eslint-disable */

import * as grpc from "@grpc/grpc-js";
import * as eliza_v1_eliza_pb from "../../eliza/v1/eliza_pb";

interface IElizaServiceService extends grpc.ServiceDefinition<grpc.UntypedServiceImplementation> {
    say: IElizaServiceService_ISay;
    converse: IElizaServiceService_IConverse;
    introduce: IElizaServiceService_IIntroduce;
    summarize: IElizaServiceService_ISummarize;
}

interface IElizaServiceService_ISay extends grpc.MethodDefinition<eliza_v1_eliza_pb.SayRequest, eliza_v1_eliza_pb.SayResponse> {
    path: "/eliza.v1.ElizaService/Say";
    requestStream: false;
    responseStream: false;
    requestSerialize: grpc.serialize<eliza_v1_eliza_pb.SayRequest>;
    requestDeserialize: grpc.deserialize<eliza_v1_eliza_pb.SayRequest>;
    responseSerialize: grpc.serialize<eliza_v1_eliza_pb.SayResponse>;
    responseDeserialize: grpc.deserialize<eliza_v1_eliza_pb.SayResponse>;
}
interface IElizaServiceService_IConverse extends grpc.MethodDefinition<eliza_v1_eliza_pb.ConverseRequest, eliza_v1_eliza_pb.ConverseResponse> {
    path: "/eliza.v1.ElizaService/Converse";
    requestStream: true;
    responseStream: true;
    requestSerialize: grpc.serialize<eliza_v1_eliza_pb.ConverseRequest>;
    requestDeserialize: grpc.deserialize<eliza_v1_eliza_pb.ConverseRequest>;
    responseSerialize: grpc.serialize<eliza_v1_eliza_pb.ConverseResponse>;
    responseDeserialize: grpc.deserialize<eliza_v1_eliza_pb.ConverseResponse>;
}
interface IElizaServiceService_IIntroduce extends grpc.MethodDefinition<eliza_v1_eliza_pb.IntroduceRequest, eliza_v1_eliza_pb.IntroduceResponse> {
    path: "/eliza.v1.ElizaService/Introduce";
    requestStream: false;
    responseStream: true;
    requestSerialize: grpc.serialize<eliza_v1_eliza_pb.IntroduceRequest>;
    requestDeserialize: grpc.deserialize<eliza_v1_eliza_pb.IntroduceRequest>;
    responseSerialize: grpc.serialize<eliza_v1_eliza_pb.IntroduceResponse>;
    responseDeserialize: grpc.deserialize<eliza_v1_eliza_pb.IntroduceResponse>;
}
interface IElizaServiceService_ISummarize extends grpc.MethodDefinition<eliza_v1_eliza_pb.SayRequest, eliza_v1_eliza_pb.SayResponse> {
    path: "/eliza.v1.ElizaService/Summarize";
    requestStream: true;
    responseStream: false;
    requestSerialize: grpc.serialize<eliza_v1_eliza_pb.SayRequest>;
    requestDeserialize: grpc.deserialize<eliza_v1_eliza_pb.SayRequest>;
    responseSerialize: grpc.serialize<eliza_v1_eliza_pb.SayResponse>;
    responseDeserialize: grpc.deserialize<eliza_v1_eliza_pb.SayResponse>;
}

export const ElizaServiceService: IElizaServiceService;

export interface IElizaServiceServer extends grpc.UntypedServiceImplementation {
    say: grpc.handleUnaryCall<eliza_v1_eliza_pb.SayRequest, eliza_v1_eliza_pb.SayResponse>;
    converse: grpc.handleBidiStreamingCall<eliza_v1_eliza_pb.ConverseRequest, eliza_v1_eliza_pb.ConverseResponse>;
    introduce: grpc.handleServerStreamingCall<eliza_v1_eliza_pb.IntroduceRequest, eliza_v1_eliza_pb.IntroduceResponse>;
    summarize: grpc.handleClientStreamingCall<eliza_v1_eliza_pb.SayRequest, eliza_v1_eliza_pb.SayResponse>;
}

export interface IElizaServiceClient {
    say(request: eliza_v1_eliza_pb.SayRequest, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientUnaryCall;
    say(request: eliza_v1_eliza_pb.SayRequest, metadata: grpc.Metadata, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientUnaryCall;
    say(request: eliza_v1_eliza_pb.SayRequest, metadata: grpc.Metadata, options: Partial<grpc.CallOptions>, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientUnaryCall;
    converse(): grpc.ClientDuplexStream<eliza_v1_eliza_pb.ConverseRequest, eliza_v1_eliza_pb.ConverseResponse>;
    converse(options: Partial<grpc.CallOptions>): grpc.ClientDuplexStream<eliza_v1_eliza_pb.ConverseRequest, eliza_v1_eliza_pb.ConverseResponse>;
    converse(metadata: grpc.Metadata, options?: Partial<grpc.CallOptions>): grpc.ClientDuplexStream<eliza_v1_eliza_pb.ConverseRequest, eliza_v1_eliza_pb.ConverseResponse>;
    introduce(request: eliza_v1_eliza_pb.IntroduceRequest, options?: Partial<grpc.CallOptions>): grpc.ClientReadableStream<eliza_v1_eliza_pb.IntroduceResponse>;
    introduce(request: eliza_v1_eliza_pb.IntroduceRequest, metadata?: grpc.Metadata, options?: Partial<grpc.CallOptions>): grpc.ClientReadableStream<eliza_v1_eliza_pb.IntroduceResponse>;
    summarize(callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientWritableStream<eliza_v1_eliza_pb.SayRequest>;
    summarize(metadata: grpc.Metadata, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientWritableStream<eliza_v1_eliza_pb.SayRequest>;
    summarize(options: Partial<grpc.CallOptions>, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientWritableStream<eliza_v1_eliza_pb.SayRequest>;
    summarize(metadata: grpc.Metadata, options: Partial<grpc.CallOptions>, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientWritableStream<eliza_v1_eliza_pb.SayRequest>;
}

export class ElizaServiceClient extends grpc.Client implements IElizaServiceClient {
    constructor(address: string, credentials: grpc.ChannelCredentials, options?: Partial<grpc.ClientOptions>);
    public say(request: eliza_v1_eliza_pb.SayRequest, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientUnaryCall;
    public say(request: eliza_v1_eliza_pb.SayRequest, metadata: grpc.Metadata, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientUnaryCall;
    public say(request: eliza_v1_eliza_pb.SayRequest, metadata: grpc.Metadata, options: Partial<grpc.CallOptions>, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientUnaryCall;
    public converse(options?: Partial<grpc.CallOptions>): grpc.ClientDuplexStream<eliza_v1_eliza_pb.ConverseRequest, eliza_v1_eliza_pb.ConverseResponse>;
    public converse(metadata?: grpc.Metadata, options?: Partial<grpc.CallOptions>): grpc.ClientDuplexStream<eliza_v1_eliza_pb.ConverseRequest, eliza_v1_eliza_pb.ConverseResponse>;
    public introduce(request: eliza_v1_eliza_pb.IntroduceRequest, options?: Partial<grpc.CallOptions>): grpc.ClientReadableStream<eliza_v1_eliza_pb.IntroduceResponse>;
    public introduce(request: eliza_v1_eliza_pb.IntroduceRequest, metadata?: grpc.Metadata, options?: Partial<grpc.CallOptions>): grpc.ClientReadableStream<eliza_v1_eliza_pb.IntroduceResponse>;
    public summarize(callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientWritableStream<eliza_v1_eliza_pb.SayRequest>;
    public summarize(metadata: grpc.Metadata, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientWritableStream<eliza_v1_eliza_pb.SayRequest>;
    public summarize(options: Partial<grpc.CallOptions>, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientWritableStream<eliza_v1_eliza_pb.SayRequest>;
    public summarize(metadata: grpc.Metadata, options: Partial<grpc.CallOptions>, callback: (error: grpc.ServiceError | null, response: eliza_v1_eliza_pb.SayResponse) => void): grpc.ClientWritableStream<eliza_v1_eliza_pb.SayRequest>;
}
