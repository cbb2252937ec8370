/** What the processes of all clients have in common: they call as often as they are asked to and keep the score. */
import { answerParent } from "../child.ts";
import { echoRequest } from "../echo.ts";
import { Score, type Tally } from "../load/load.ts";

/** Makes one call and throws unless the answer is right. */
export type Caller = () => Promise<void>;

/** Answers the parent with calls that `connect` makes possible. */
export function answerCalls(connect: (baseUrl: string) => Caller): void {
  let call: Caller | undefined;
  answerParent({
    open(port: number): void {
      call = connect(`http://127.0.0.1:${port}`);
    },

    async run({ inFlight, seconds }: { inFlight: number; seconds: number }): Promise<Tally> {
      const score = new Score();
      const until = score.startedAt + seconds * 1000;
      const callOnAndOn = async () => {
        for (let start = score.startedAt; start < until; ) {
          await call?.();
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
