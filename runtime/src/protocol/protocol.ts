/**
 * The two halves of a sub-protocol, which convert between calls and HTTP exchanges.
 */
import type { Call, Handler } from "../call/call.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { ClientProtocolOptions } from "./options.ts";

/** The client half of a protocol: converts an exchange to a call. */
export type ClientProtocol = (exchange: Exchange, options: ClientProtocolOptions) => Call;

/** The server half of a protocol: answers HTTP requests by calling handlers. */
export interface ServerProtocol {
  /** Reports whether the protocol answers requests with this content type. */
  accepts(contentType: string): boolean;
  /** Answers a request. Never rejects. Without a handler, the response is the protocol's error for an unknown method. */
  serve(request: HttpRequest, handler: Handler | undefined): Promise<HttpResponse>;
}
