/** Agents, apart from the protocol that serves them. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ArtifactSchema, Message, Task, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";

/** A change of a task: a state with a message for the user, or an artifact, which may be sent in chunks. */
export type AgentUpdate =
  | { readonly state: TaskState; readonly text?: string }
  | {
      readonly artifact: MessageInitShape<typeof ArtifactSchema>;
      readonly append?: boolean;
      readonly lastChunk?: boolean;
    };

/**
 * Handles a message of a task, whose history contains it, until it yields a terminal state, or one that asks for input. The
 * signal fires when the task is canceled.
 */
export type Agent = (message: Message, task: Task, signal: AbortSignal) => AsyncIterable<AgentUpdate>;
