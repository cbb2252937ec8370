import type { ConnectRouter, ConnectRouterOptions, ContextValues } from "@connectrpc/connect";
import type { Request, RequestHandler } from "express";
interface ExpressConnectMiddlewareOptions extends ConnectRouterOptions {
  routes: (router: ConnectRouter) => void;
  requestPathPrefix?: string;
  contextValues?: (req: Request) => ContextValues;
}
export declare function expressConnectMiddleware(options: ExpressConnectMiddlewareOptions): RequestHandler;
