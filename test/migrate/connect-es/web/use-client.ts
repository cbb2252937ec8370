import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { transport } from "./transport";

/** Get a promise client for the given service. */
export function useClient<T extends DescService>(service: T): Client<T> {
  return createClient(service, transport);
}
