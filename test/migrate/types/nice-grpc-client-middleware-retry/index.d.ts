import type { ClientMiddleware } from "nice-grpc-common";
export interface RetryOptions {
  retry?: boolean;
}
export declare const retryMiddleware: ClientMiddleware<RetryOptions>;
