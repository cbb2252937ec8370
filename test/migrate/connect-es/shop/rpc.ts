export { Code, ConnectError } from "@connectrpc/connect";
export { createConnectTransport } from "@connectrpc/connect-node";
export type { Client, Interceptor } from "@connectrpc/connect";
