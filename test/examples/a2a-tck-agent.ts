/** The agent that the test kit of A2A expects (scenarios in a2aproject/a2a-tck): the id of a message begins with its scenario. */
import { fromJson, type MessageInitShape } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import type { Agent } from "../../examples/a2a/src/agent.ts";
import { type PartSchema, TaskState } from "../../examples/gen/lf/a2a/v1/a2a_pb.ts";

type Part = MessageInitShape<typeof PartSchema>;

const text = (value: string): Part => ({ content: { case: "text", value } });
const file = { filename: "output.txt", mediaType: "text/plain" };
const bytes: Part = { ...file, content: { case: "raw", value: new TextEncoder().encode("content") } };

/** The parts of the artifact of each scenario; each part is a chunk. */
const ARTIFACTS: Readonly<Record<string, readonly Part[]>> = {
  "tck-artifact-text": [text("Generated text content")],
  "tck-artifact-file-url": [{ ...file, content: { case: "url", value: "https://example.com/output.txt" } }],
  "tck-artifact-file": [bytes],
  "tck-artifact-data": [{ content: { case: "data", value: fromJson(ValueSchema, { key: "value", count: 42 }) } }],
  "tck-stream-001": [text("Stream hello from TCK")],
  "tck-stream-003": [text("Stream task lifecycle")],
  "tck-stream-ordering-001": [text("Ordered output")],
  "tck-stream-artifact-text": [text("Streamed text content")],
  "tck-stream-artifact-file": [bytes],
  "tck-stream-artifact-chunked": [text("chunk-1 "), text("chunk-2")],
};

/** The time for which the kit subscribes to a task that runs, in milliseconds. */
const RUN_MS = 4_000;

export const tckAgent: Agent = async function* ({ messageId }) {
  const is = (prefix: string): boolean => messageId.startsWith(prefix);
  if (is("tck-input-required")) return yield { state: TaskState.INPUT_REQUIRED };
  if (is("tck-reject-task")) return yield { state: TaskState.REJECTED, text: "rejected" };
  if (is("test-resubscribe-message-id")) await new Promise((resolve) => setTimeout(resolve, RUN_MS));
  const parts = Object.entries(ARTIFACTS).find(([prefix]) => is(prefix))?.[1] ?? [];
  for (const [index, part] of parts.entries()) {
    const lastChunk = index === parts.length - 1;
    yield { artifact: { artifactId: "output", parts: [part] }, append: index > 0, lastChunk };
  }
  yield { state: TaskState.COMPLETED, text: "Hello from TCK" };
};
