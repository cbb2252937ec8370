/**
 * The file `app/judge/[...method]/route.js` that test/examples/next.test.ts adds to the example: a route with the callee.
 */
import { createRouter } from "triple-es";
import { fetchHandler } from "triple-es/fetch";
import { GreetServiceDef } from "../../examples/gen/greet/v1/greet_triple.ts";
import { createCallee } from "./callee.ts";

const router = createRouter({ cors: { origins: ["https://friend.example"] } });
const handle = fetchHandler(router.add(GreetServiceDef, createCallee()), { prefix: "/judge" });

export { handle as OPTIONS, handle as POST };
