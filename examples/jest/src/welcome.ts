/** Code that calls the service. */
import { Code, RpcError } from "triple-es";
import type { GreetServiceClient } from "../../gen/greet/v1/greet_triple.ts";

/** Returns the greeting for a visitor; a plain one if the service cannot be reached. */
export async function welcome(greeter: GreetServiceClient, name: string): Promise<string> {
  try {
    return (await greeter.greet({ name })).greeting;
  } catch (error) {
    if (error instanceof RpcError && error.code === Code.Unavailable) return "Hello!";
    throw error;
  }
}
