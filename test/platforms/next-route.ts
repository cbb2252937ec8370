/**
 * The file `app/rpc/[...method]/route.ts` of a Next app.
 */
import { createRouter } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "./callee.ts";

const router = createRouter({ cors: { origins: ["https://friend.example"] } });
const handle = fetchHandler(router.add(GreetServiceDef, createCallee()), { prefix: "/rpc" });

export { handle as OPTIONS, handle as POST };
