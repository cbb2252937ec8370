/**
 * Options of TanStack Query, version 5, for the methods of a client: plain objects, which its adapters for all frameworks
 * accept. This module does not import TanStack Query.
 */
import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { encodeBase64 } from "../call/base64.ts";
import type { ServiceDef } from "../call/call.ts";
import type { RpcError } from "../call/error.ts";
import type { CallOptions } from "./client.ts";

/**
 * Options of queries and mutations for each method of a client `C` that takes one message.
 *
 * Every function takes the options of the call except `signal`, by which TanStack Query cancels the call. The member
 * `throwOnError` is never set: it gives TanStack Query the type of errors.
 */
export type Queries<C extends object> = {
  readonly [K in keyof C]: C[K] extends (request: infer I, options?: CallOptions) => infer R
    ? [I] extends [AsyncIterable<unknown>]
      ? never
      : R extends Promise<infer O>
        ? {
            /** Returns the key of all queries of the method, or of its queries with a request. */
            readonly key: (request?: I) => readonly unknown[];
            /** Returns options of a query, whose data is the response. */
            readonly queryOptions: (
              request: I,
              options?: Omit<CallOptions, "signal">,
            ) => {
              readonly queryKey: readonly unknown[];
              readonly queryFn: (context: { readonly signal: AbortSignal }) => Promise<O>;
              readonly throwOnError?: (error: RpcError) => boolean;
            };
            /**
             * Returns options of an infinite query, whose page parameters are requests. `next` returns the request for the
             * page after a response, or `undefined` after the last page.
             */
            readonly infiniteOptions: (
              request: I,
              next: (page: O, request: I) => I | undefined,
              options?: Omit<CallOptions, "signal">,
            ) => {
              readonly queryKey: readonly unknown[];
              readonly queryFn: (context: { readonly signal: AbortSignal; readonly pageParam: I }) => Promise<O>;
              readonly initialPageParam: I;
              readonly getNextPageParam: (page: O, pages: readonly O[], request: I) => I | undefined;
              readonly throwOnError?: (error: RpcError) => boolean;
            };
            /** Returns options of a mutation, whose variables are the request. */
            readonly mutationOptions: (options?: Omit<CallOptions, "signal">) => {
              readonly mutationKey: readonly unknown[];
              readonly mutationFn: (request: I) => Promise<O>;
              readonly throwOnError?: (error: RpcError) => boolean;
            };
          }
        : R extends AsyncIterable<infer O>
          ? {
              /** Returns the key of all queries of the method, or of its queries with a request. */
              readonly key: (request?: I) => readonly unknown[];
              /**
               * Returns options of a query that runs as long as the stream. Its data is `initial` from the response headers
               * on, and changed by `reduce` with each response. `resume` returns the request that continues after the data
               * in the cache. Default: a repeated query begins again, with `initial`. Needs TanStack Query 5.68 or newer.
               */
              readonly streamOptions: <D>(
                request: I,
                reduction: {
                  readonly initial: D;
                  readonly reduce: (data: D, response: O) => D;
                  readonly resume?: ((data: D) => I) | undefined;
                },
                options?: Omit<CallOptions, "signal">,
              ) => {
                readonly queryKey: readonly unknown[];
                readonly queryFn: (context: {
                  readonly client: {
                    getQueryData(key: readonly unknown[]): unknown;
                    setQueryData(key: readonly unknown[], data: unknown): unknown;
                  };
                  readonly queryKey: readonly unknown[];
                  readonly signal: AbortSignal;
                }) => Promise<D>;
                readonly throwOnError?: (error: RpcError) => boolean;
              };
            }
          : never
    : never;
};

type Stub<R> = (request: unknown, options?: CallOptions) => R;
type AnyQueries = Queries<{ unary: Stub<Promise<unknown>>; stream: Stub<AsyncIterable<unknown>> }>;

/**
 * Returns options of TanStack Query for the methods of a client. A key is `[...keyPrefix, service.typeName, method, request]`,
 * with the request as JSON: `invalidateQueries` also accepts its first elements, or part of the request. Clients of
 * different servers, versions or headers need different prefixes. Throws a `TypeError` for a client of another service.
 *
 * Set `retry` in the options of the `QueryClient`, because most errors are the same when a call is repeated:
 *
 *     retry: (count, error) => error instanceof RpcError && error.code === Code.Unavailable && count < 3
 */
export function createQueries<C extends object>(
  service: ServiceDef<C, object>,
  client: C,
  keyPrefix: readonly unknown[] = [],
): Queries<C> {
  const queries: Record<string, unknown> = Object.create(null);
  for (const [name, { input }] of Object.entries(service.methods)) {
    const call = (client as Readonly<Record<string, unknown>>)[name] as Stub<never>;
    if (typeof call !== "function") throw new TypeError(`the client of ${service.typeName} has no method ${name}`);
    const methodKey = [...keyPrefix, service.typeName, name];
    const key = (request: unknown) => (request === undefined ? methodKey : [...methodKey, toKey(request, input)]);
    const ofMethod: AnyQueries["unary"] & AnyQueries["stream"] = {
      key,
      queryOptions: (request, options) => ({
        queryKey: key(request),
        queryFn: ({ signal }) => call(request, { ...options, signal }),
      }),
      infiniteOptions: (request, next, options) => ({
        queryKey: [...key(request), "infinite"],
        queryFn: ({ signal, pageParam }) => call(pageParam, { ...options, signal }),
        initialPageParam: request,
        getNextPageParam: (page, _, last) => next(page, last),
      }),
      mutationOptions: (options) => ({ mutationKey: methodKey, mutationFn: (request) => call(request, options) }),
      streamOptions: (request, { initial, reduce, resume }, options) => ({
        queryKey: key(request),
        queryFn: async ({ client, queryKey, signal }) => {
          const cached = resume && (client.getQueryData(queryKey) as typeof initial | undefined);
          let data = cached ?? initial;
          const next = resume && cached !== undefined ? resume(cached) : request;
          const onHeaders: CallOptions["onHeaders"] = (headers) => {
            client.setQueryData(queryKey, data);
            return options?.onHeaders?.(headers);
          };
          for await (const response of call(next, { ...options, onHeaders, signal }) as AsyncIterable<never>) {
            data = reduce(data, response);
            client.setQueryData(queryKey, data);
          }
          return data;
        },
      }),
    };
    queries[name] = ofMethod;
  }
  return queries as Queries<C>;
}

/**
 * Converts a request to JSON for a key: TanStack Query hashes keys with `JSON.stringify`, which fails for `bigint`. With
 * the schema, a message and its init shape have the same key.
 */
function toKey(value: unknown, type?: DescMessage): unknown {
  if (typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value))) return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Date) return value.toJSON();
  if (value instanceof Uint8Array) return encodeBase64(value);
  if (Array.isArray(value)) return value.map((item) => toKey(item, type));
  const isMap = value instanceof Map;
  // A field of the type `Struct` is a plain object.
  const isMessage = type !== undefined && !isMap && type.typeName !== "google.protobuf.Struct";
  if (isMessage) return messageKey(value as Readonly<Record<string, unknown>>, type);
  const entries = Array.from(isMap ? value : Object.entries(value));
  return Object.fromEntries(entries.map(([name, member]) => [name, toKey(member, isMap ? type : undefined)]));
}

function messageKey(message: Readonly<Record<string, unknown>>, { fields }: DescMessage): object {
  const members = fields.flatMap((field) => {
    const { localName, oneof, message: type } = field;
    const group = oneof && (message[oneof.localName] as { case?: string; value?: unknown } | undefined);
    // The prototype of a message has the defaults of fields that are not set.
    const own = Object.hasOwn(message, localName) ? message[localName] : undefined;
    const value = group?.case === localName ? group.value : own;
    if (value === undefined || isUnset(field, value)) return [];
    return [[localName, toKey(field.fieldKind === "map" ? new Map(Object.entries(value as object)) : value, type)]];
  });
  return Object.fromEntries(members);
}

/** `FieldPresence.IMPLICIT` of protobuf: a field with its zero value is not set. */
const IMPLICIT = 2;

function isUnset(field: DescField, value: unknown): boolean {
  if (field.presence !== IMPLICIT) return false;
  if (typeof value === "object") return Object.keys(value as object).length === 0;
  const isZeroText = value === "0" && field.fieldKind === "scalar" && field.longAsString;
  return isZeroText || [0, 0n, "", false].includes(value as number);
}
