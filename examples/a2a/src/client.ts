/** Calls the agent with the SDK of A2A for JavaScript, over both bindings of its card. */
import { SendMessageRequest, type StreamResponse, type Task, taskStateToJSON } from "@a2a-js/sdk";
import { type Client, ClientFactory, RestTransportFactory } from "@a2a-js/sdk/client";
import { GrpcTransportFactory } from "@a2a-js/sdk/client/grpc";

const baseUrl = `http://localhost:${process.env["PORT"] ?? 50051}`;
const invoices = [{ lines: [{ quantity: 3, price: 4.5 }] }, { lines: [{ quantity: 1, price: 20 }] }];

for (const transport of [new GrpcTransportFactory(), new RestTransportFactory()]) {
  const client = await new ClientFactory({ transports: [transport] }).createFromUrl(baseUrl);
  console.log(`over ${transport.protocolName}:`);
  await useAgent(client);
}

async function useAgent(client: Client): Promise<void> {
  const task = (await client.sendMessage(message([{ text: "Sum my invoices" }]))) as Task;
  const question = task.status?.message?.parts[0]?.content?.value;
  console.log(`${stateOf(task)}: ${question}`);

  const parts = invoices.map((data) => ({ data }));
  for await (const update of client.sendMessageStream(message(parts, task.id))) console.log(textOf(update));

  await client.cancelTask({ id: task.id, tenant: "", metadata: undefined }).catch((error) => {
    console.log(`${error.name}: ${error.message.replace(task.id, "…")}`);
  });
}

function message(parts: object[], taskId = ""): SendMessageRequest {
  return SendMessageRequest.fromJSON({ message: { messageId: crypto.randomUUID(), taskId, role: "ROLE_USER", parts } });
}

function textOf({ payload }: StreamResponse): string {
  switch (payload?.$case) {
    case "task":
    case "statusUpdate":
      return stateOf(payload.value);
    case "artifactUpdate":
      return JSON.stringify(payload.value.artifact?.parts[0]?.content?.value);
    default:
      return `unexpected: ${payload?.$case}`;
  }
}

function stateOf({ status }: Pick<Task, "status">): string {
  return status === undefined ? "no status" : taskStateToJSON(status.state);
}
