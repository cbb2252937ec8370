import type { Interceptor } from "@connectrpc/connect";
export declare function createValidateInterceptor(): Interceptor;
