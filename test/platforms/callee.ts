/**
 * The server for the calls of the platforms: see `calls.ts`. It uses only what the runtime itself requires of a platform.
 */
import { create } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { Code, codeName, RpcError } from "triple-es";
import { GreetRequestSchema } from "../../examples/gen/greet/v1/greet_pb.ts";
import type { GreetServiceHandler } from "../../examples/gen/greet/v1/greet_triple.ts";

/** A call that waits until it is cancelled, with its own name. */
class Snail {
  /** Settles when the call has started. */
  readonly begun: Promise<void>;
  /** Settles with the name of the reason when the call has been cancelled. */
  readonly ended: Promise<string>;
  begin = (): void => {};
  end = (_reason: string): void => {};
  constructor() {
    this.begun = new Promise((resolve) => {
      this.begin = resolve;
    });
    this.ended = new Promise((resolve) => {
      this.end = resolve;
    });
  }
}

/**
 * A greeter whose reaction depends on the name: it fails for an unknown name, waits for a `Snail <id>`, reports to a
 * `Watcher <id>` that the snail has started and to a `Witness <id>` why it was cancelled, and to a `Critic` whether the
 * signal of the previous call has fired. It returns metadata under `x-echo` and `x-bytes-bin`. A stream greets one name
 * after the other, fails at an empty one, and waits after a `Snail <id>`.
 */
export function createCallee(): GreetServiceHandler {
  const snails = new Map<string, Snail>();
  let last: AbortSignal | undefined;

  function snailOf(id: string): Snail {
    const snail = snails.get(id) ?? new Snail();
    snails.set(id, snail);
    return snail;
  }

  async function crawl(snail: Snail, signal: AbortSignal): Promise<never> {
    snail.begin();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    const reason = RpcError.from(signal.reason);
    snail.end(codeName(reason.code));
    throw reason;
  }

  const greet: GreetServiceHandler["greet"] = async ({ name }, context) => {
    const { requestHeaders, responseHeaders, responseTrailers, signal } = context;
    if (name === "") {
      const details = [anyPack(GreetRequestSchema, create(GreetRequestSchema, { name: "somebody" }))];
      throw new RpcError(Code.NotFound, "no such person – né", { details, trailers: { "x-why": "no name" } });
    }
    const [role = "", id = ""] = name.split(" ");
    if (role === "Snail") return crawl(snailOf(id), signal);
    if (role === "Witness") return { greeting: await snailOf(id).ended };
    if (role === "Critic") return { greeting: last?.aborted ? "fired" : "silent" };
    if (role === "Watcher") await snailOf(id).begun;
    last = signal;
    responseHeaders.set("x-echo", requestHeaders.get("x-echo") ?? "nothing");
    responseTrailers.set("x-bytes-bin", requestHeaders.getBinary("x-bytes-bin") ?? new Uint8Array());
    return { greeting: `Hello, ${name}!` };
  };
  const greetEach: GreetServiceHandler["greetEach"] = async function* ({ names }, context) {
    context.responseHeaders.set("x-echo", "leading");
    for (const name of names) {
      if (name === "") throw new RpcError(Code.DataLoss, "lost – né", { trailers: { "x-why": "no name" } });
      yield { greeting: `Hello, ${name}!` };
      const [role = "", id = ""] = name.split(" ");
      if (role === "Snail") await crawl(snailOf(id), context.signal);
    }
    context.responseTrailers.set("x-bytes-bin", Uint8Array.of(0, 254, 255));
  };
  // The other methods have streams of requests, which fetch does not support.
  return { greet, greetEach } as GreetServiceHandler;
}
