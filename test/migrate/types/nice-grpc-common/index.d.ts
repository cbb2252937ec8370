export type MetadataValue<Key extends string> = string extends Key
  ? string | Uint8Array
  : Lowercase<Key> extends `${string}-bin`
    ? Uint8Array
    : string;
export type MetadataInit =
  | Metadata
  | Iterable<[string, string | Uint8Array | Array<string | Uint8Array>]>
  | Record<string, string | Uint8Array | Array<string | Uint8Array>>;
export type Metadata = {
  set<Key extends string>(key: Key, value: MetadataValue<Key> | Array<MetadataValue<Key>>): Metadata;
  append<Key extends string>(key: Key, value: MetadataValue<Key>): Metadata;
  delete(key: string): void;
  get<Key extends string>(key: Key): MetadataValue<Key> | undefined;
  getAll<Key extends string>(key: Key): Array<MetadataValue<Key>>;
  has(key: string): boolean;
  [Symbol.iterator](): IterableIterator<[string, Array<string | Uint8Array>]>;
};
export type MetadataConstructor = {
  new (init?: MetadataInit): Metadata;
  (init?: MetadataInit): Metadata;
};
export declare const Metadata: MetadataConstructor;
export declare enum Status {
  OK = 0,
  CANCELLED = 1,
  UNKNOWN = 2,
  INVALID_ARGUMENT = 3,
  DEADLINE_EXCEEDED = 4,
  NOT_FOUND = 5,
  UNAVAILABLE = 14,
  UNAUTHENTICATED = 16,
}
export type MethodDescriptor = {
  path: string;
  requestStream: boolean;
  responseStream: boolean;
  options: { idempotencyLevel?: "IDEMPOTENT" | "NO_SIDE_EFFECTS" };
};
export type CallContext = {
  metadata: Metadata;
  peer: string;
  header: Metadata;
  sendHeader(): void;
  trailer: Metadata;
  signal: AbortSignal;
};
export declare class ServerError extends Error {
  code: Status;
  details: string;
  constructor(code: Status, details: string);
}
export declare class ClientError extends Error {
  path: string;
  code: Status;
  details: string;
  constructor(path: string, code: Status, details: string);
}
export type CallOptions = {
  metadata?: Metadata;
  signal?: AbortSignal;
  onHeader?(header: Metadata): void;
  onTrailer?(trailer: Metadata): void;
};
type CallRequest<Request> =
  | { requestStream: false; request: Request }
  | { requestStream: true; request: AsyncIterable<Request> };
export type ServerMiddleware<CallContextExt = {}, RequiredCallContextExt = {}> = <Request, Response>(
  call: ServerMiddlewareCall<Request, Response, CallContextExt & RequiredCallContextExt>,
  context: CallContext & RequiredCallContextExt,
) => AsyncGenerator<Response, Response | void, undefined>;
export type ServerMiddlewareCall<Request, Response, NextCallContextExt = {}> = {
  method: MethodDescriptor;
} & CallRequest<Request> &
  (
    | {
        responseStream: false;
        next(
          request: Request | AsyncIterable<Request>,
          context: CallContext & NextCallContextExt,
        ): AsyncGenerator<never, Response, undefined>;
      }
    | {
        responseStream: true;
        next(
          request: Request | AsyncIterable<Request>,
          context: CallContext & NextCallContextExt,
        ): AsyncGenerator<Response, void, undefined>;
      }
  );
export type ClientMiddleware<CallOptionsExt = {}, RequiredCallOptionsExt = {}> = <Request, Response>(
  call: ClientMiddlewareCall<Request, Response, RequiredCallOptionsExt>,
  options: CallOptions & Partial<CallOptionsExt & RequiredCallOptionsExt>,
) => AsyncGenerator<Response, Response | void, undefined>;
export type ClientMiddlewareCall<Request, Response, NextCallOptionsExt = {}> = {
  method: MethodDescriptor;
} & CallRequest<Request> &
  (
    | {
        responseStream: false;
        next(
          request: Request | AsyncIterable<Request>,
          options: CallOptions & Partial<NextCallOptionsExt>,
        ): AsyncGenerator<never, Response, undefined>;
      }
    | {
        responseStream: true;
        next(
          request: Request | AsyncIterable<Request>,
          options: CallOptions & Partial<NextCallOptionsExt>,
        ): AsyncGenerator<Response, void, undefined>;
      }
  );
