/**
 * The two halves of a sub-protocol, each a function between the language of methods and the language of the wire.
 */
import type { Call, Handler } from "../call/call.ts";
import type { Exchange, HttpRequest, HttpResponse } from "../http/exchange.ts";
import type { ClientProtocolOptions } from "./options.ts";

/** A protocol's client half: turns an exchange into a call. */
export type ClientProtocol = (exchange: Exchange, options: ClientProtocolOptions) => Call;

/** A protocol's server half: answers an exchange by making a call. */
export interface ServerProtocol {
  /** Reports whether the protocol answers requests of this content type. */
  accepts(contentType: string): boolean;
  /** Answers a request and never rejects. Without a handler the response is the protocol's "not found" error. */
  serve(request: HttpRequest, handler: Handler | undefined): Promise<HttpResponse>;
}
