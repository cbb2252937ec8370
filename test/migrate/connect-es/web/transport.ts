import { createConnectTransport, createGrpcWebTransport } from "@connectrpc/connect-web";

export const transport = createConnectTransport({
  baseUrl: "https://demo.connectrpc.com",
  useBinaryFormat: true,
  fetch: (input, init) => fetch(input, { ...init, credentials: "include" }),
});

export const grpcWeb = createGrpcWebTransport({ baseUrl: "https://demo.connectrpc.com" });
