import { Code, ConnectError } from "@connectrpc/connect";
import { ElizaService } from "../gen/eliza/v1/eliza_pb";
import { useClient } from "./use-client";

const client = useClient(ElizaService);

export async function send(sentence: string): Promise<string> {
  try {
    const { sentence: answer } = await client.say({ sentence });
    return answer;
  } catch (err) {
    if (err instanceof ConnectError && err.code === Code.Canceled) return "";
    throw new Error(`${ElizaService.typeName} ${ElizaService.method.say.name}: ${err}`);
  }
}
