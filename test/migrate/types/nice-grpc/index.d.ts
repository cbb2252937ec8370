import type { Channel, ChannelCredentials, ChannelOptions, ServerCredentials } from "@grpc/grpc-js";
import type { CallContext, CallOptions, ClientMiddleware, ServerMiddleware } from "nice-grpc-common";
export * from "nice-grpc-common";
export { Channel, ChannelCredentials, ChannelOptions } from "@grpc/grpc-js";
export interface CompatServiceDefinition {
  readonly methods: Record<
    string,
    { requestType: any; responseType: any; requestStream: boolean; responseStream: boolean }
  >;
}
type Message<T> = T extends { fromPartial(object: any): infer M } ? M : never;
type Init<T> = T extends (infer U)[] ? Init<U>[] : T extends object ? { [K in keyof T]?: Init<T[K]> } : T;
export type Client<Service extends CompatServiceDefinition, Ext = {}> = {
  [M in keyof Service["methods"]]: (
    request: Service["methods"][M]["requestStream"] extends true
      ? AsyncIterable<Init<Message<Service["methods"][M]["requestType"]>>>
      : Init<Message<Service["methods"][M]["requestType"]>>,
    options?: CallOptions & Ext,
  ) => Service["methods"][M]["responseStream"] extends true
    ? AsyncIterable<Message<Service["methods"][M]["responseType"]>>
    : Promise<Message<Service["methods"][M]["responseType"]>>;
};
export type ServiceImplementation<Service extends CompatServiceDefinition, Ext = {}> = {
  [M in keyof Service["methods"]]: (
    request: Service["methods"][M]["requestStream"] extends true
      ? AsyncIterable<Message<Service["methods"][M]["requestType"]>>
      : Message<Service["methods"][M]["requestType"]>,
    context: CallContext & Ext,
  ) => Service["methods"][M]["responseStream"] extends true
    ? { [Symbol.asyncIterator](): AsyncIterator<Init<Message<Service["methods"][M]["responseType"]>>, void> }
    : Promise<Init<Message<Service["methods"][M]["responseType"]>>>;
};
export type Server<CallContextExt = {}> = {
  use<Ext>(middleware: ServerMiddleware<Ext, CallContextExt>): Server<CallContextExt & Ext>;
  with<Ext>(middleware: ServerMiddleware<Ext, CallContextExt>): ServerAddBuilder<CallContextExt & Ext>;
  add<Service extends CompatServiceDefinition>(
    definition: Service,
    implementation: ServiceImplementation<Service, CallContextExt>,
  ): void;
  listen(address: string, credentials?: ServerCredentials): Promise<number>;
  shutdown(): Promise<void>;
  forceShutdown(): void;
};
export type ServerAddBuilder<CallContextExt> = {
  with<Ext>(middleware: ServerMiddleware<Ext, CallContextExt>): ServerAddBuilder<CallContextExt & Ext>;
  add<Service extends CompatServiceDefinition>(
    definition: Service,
    implementation: ServiceImplementation<Service, CallContextExt>,
  ): void;
};
export declare function createServer(options?: ChannelOptions): Server;
export declare function createChannel(
  address: string,
  credentials?: ChannelCredentials,
  options?: ChannelOptions,
): Channel;
export type DefaultCallOptions<Service extends CompatServiceDefinition, Ext = {}> = {
  [K in keyof Service["methods"] | "*"]?: CallOptions & Partial<Ext>;
};
export type ClientFactory<CallOptionsExt = {}> = {
  use<Ext>(middleware: ClientMiddleware<Ext, CallOptionsExt>): ClientFactory<CallOptionsExt & Ext>;
  create<Service extends CompatServiceDefinition>(
    definition: Service,
    channel: Channel,
    defaultCallOptions?: DefaultCallOptions<Service, CallOptionsExt>,
  ): Client<Service, CallOptionsExt>;
};
export declare function createClientFactory(): ClientFactory;
export declare function createClient<Service extends CompatServiceDefinition>(
  definition: Service,
  channel: Channel,
  defaultCallOptions?: DefaultCallOptions<Service>,
): Client<Service>;
