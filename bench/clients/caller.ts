/** What the processes of all clients have in common: they call as often as they are asked to and keep the score. */
import { answerParent } from "../child.ts";
import { echoRequest, repeatCount } from "../echo.ts";
import { type Load, Score, type Tally } from "../load/load.ts";

/** Makes one call of each method and throws unless the answer is right. */
export type Caller = Readonly<Record<Method, () => Promise<void>>>;

/** The methods that clients are measured with. */
type Method = Exclude<Load["method"], "order">;

/** Answers the parent with calls that `connect` makes possible. */
export function answerCalls(connect: (baseUrl: string) => Caller): void {
  let caller: Caller | undefined;
  answerParent({
    open(port: number): void {
      caller = connect(`http://127.0.0.1:${port}`);
    },

    async run({
      method,
      inFlight,
      seconds,
    }: Pick<Load, "inFlight"> & { method: Method; seconds: number }): Promise<Tally> {
      const score = new Score(method);
      const until = score.startedAt + seconds * 1000;
      const callOnAndOn = async () => {
        for (let start = score.startedAt; start < until; ) {
          await caller?.[method]();
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

/** A look that costs next to nothing; the bytes themselves are compared by the load on the servers. */
export function checkEcho(message: { id: string } | undefined): void {
  if (message?.id !== echoRequest.id) throw new Error("the answer is not the message that was sent");
}

/** Reads a stream to its end, with a look at every message. */
export async function checkRepeat(messages: AsyncIterable<{ id: string }>): Promise<void> {
  let received = 0;
  for await (const message of messages) {
    checkEcho(message);
    received++;
  }
  if (received !== repeatCount) throw new Error(`${received} messages came instead of ${repeatCount}`);
}
