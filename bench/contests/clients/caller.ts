/** The common part of all client processes: they make the requested number of calls and count the results. */
import { answerParent } from "../../child.ts";
import { echoRequest, repeatCount } from "../../messages/echo.ts";
import { type Load, Score, type Tally } from "../load/load.ts";

/** Makes one call of each method, and throws if a response is wrong. `http-rpc` has no streams. */
export interface Caller {
  readonly echo: () => Promise<void>;
  readonly repeat?: () => Promise<void>;
}

/** Answers the requests of the parent with calls over the connection that `connect` opens. */
export function answerCalls(connect: (baseUrl: string, protocol: Load["protocol"]) => Caller): void {
  let caller: Caller | undefined;
  answerParent({
    open({ port, protocol }: { port: number; protocol: Load["protocol"] }): void {
      caller = connect(`http://127.0.0.1:${port}`, protocol);
    },

    async run({ method, inFlight, seconds }: Pick<Load, "method" | "inFlight"> & { seconds: number }): Promise<Tally> {
      const score = new Score(method);
      const until = score.startedAt + seconds * 1000;
      // The methods that clients are measured with.
      const call = (caller as Partial<Record<Load["method"], () => Promise<void>>> | undefined)?.[method];
      if (call === undefined) throw new Error(`there is no client, or it has no method ${method}`);
      const callOnAndOn = async () => {
        for (let start = score.startedAt; start < until; ) {
          await call();
          const now = performance.now();
          score.latencies.record(now - start);
          start = now;
        }
      };
      await Promise.all(Array.from({ length: inFlight }, callOnAndOn));
      return score.tally();
    },
  });
}

/** A cheap check. The load on servers compares the bytes themselves. */
export function checkEcho(message: { id: string } | undefined): void {
  if (message?.id !== echoRequest.id) throw new Error("the answer is not the message that was sent");
}

/** Reads a stream to its end, and checks every message. */
export async function checkRepeat(messages: AsyncIterable<{ id: string }>): Promise<void> {
  let received = 0;
  for await (const message of messages) {
    checkEcho(message);
    received++;
  }
  if (received !== repeatCount) throw new Error(`${received} messages came instead of ${repeatCount}`);
}
