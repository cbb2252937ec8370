import { fetchHandler } from "triple-es/fetch";
import { router } from "../../router.ts";

export const POST = fetchHandler(router, { prefix: "/rpc" });
