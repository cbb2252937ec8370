/** A task in memory: its current value, and the updates that streams follow. */
import { clone, create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampNow } from "@bufbuild/protobuf/wkt";
import {
  ArtifactSchema,
  type Message,
  MessageSchema,
  Role,
  type StreamResponse,
  StreamResponseSchema,
  type Task,
  TaskSchema,
  TaskState,
  type TaskStatus,
  TaskStatusSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { Agent, AgentUpdate } from "./agent.ts";

const TERMINAL: readonly TaskState[] = [TaskState.COMPLETED, TaskState.FAILED, TaskState.CANCELED, TaskState.REJECTED];
const INTERRUPTED: readonly TaskState[] = [TaskState.INPUT_REQUIRED, TaskState.AUTH_REQUIRED];

export const isTerminal = (state: TaskState): boolean => TERMINAL.includes(state);
/** Reports whether an agent has nothing more to do until the next message. */
export const isSettled = (state: TaskState): boolean => isTerminal(state) || INTERRUPTED.includes(state);

export class TaskRecord {
  readonly task: Task;
  readonly #updates: StreamResponse[] = [];
  /** Called after each update. */
  readonly #watchers = new Set<() => void>();
  readonly #onStatus: (record: TaskRecord) => void;
  #running = new AbortController();

  /** Creates a task. `onStatus` is called after each change of its status. */
  constructor(contextId: string, onStatus: (record: TaskRecord) => void) {
    this.task = create(TaskSchema, { id: crypto.randomUUID(), contextId });
    this.#onStatus = onStatus;
    this.#setStatus({ state: TaskState.SUBMITTED });
  }

  get state(): TaskState {
    return this.task.status?.state ?? TaskState.UNSPECIFIED;
  }

  /** Passes a message to the agent, whose updates are applied until it ends or the task is canceled. Never rejects. */
  async run(agent: Agent, given: Message): Promise<void> {
    this.#running = new AbortController();
    const { signal } = this.#running;
    const message = { ...given, taskId: this.task.id, contextId: this.task.contextId };
    this.#setStatus({ state: TaskState.WORKING });
    this.task.history.push(message);
    try {
      for await (const update of agent(message, this.task, signal)) {
        if (signal.aborted) return;
        this.#apply(update);
        if (isSettled(this.state)) return;
      }
      throw new Error("the agent ended without a result");
    } catch (error) {
      if (signal.aborted) return;
      console.error(error);
      this.#apply({ state: TaskState.FAILED, text: "the agent failed" });
    }
  }

  cancel(): void {
    this.#running.abort();
    this.#apply({ state: TaskState.CANCELED });
  }

  /** Returns the task as it is now, and then its updates, until a state ends the stream. Rejects when the signal fires. */
  follow(isEnd: (state: TaskState) => boolean, signal: AbortSignal): AsyncGenerator<StreamResponse> {
    const value = clone(TaskSchema, this.task);
    return this.#follow({ case: "task", value }, this.#updates.length, isEnd, signal);
  }

  async *#follow(
    first: StreamResponse["payload"],
    next: number,
    isEnd: (state: TaskState) => boolean,
    signal: AbortSignal,
  ): AsyncGenerator<StreamResponse> {
    yield create(StreamResponseSchema, { payload: first });
    for (let index = next; ; ) {
      signal.throwIfAborted();
      const update = this.#updates[index];
      if (update !== undefined) {
        yield update;
        index++;
      } else if (isEnd(this.state)) return;
      else await this.#changed(signal);
    }
  }

  #changed(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const watcher = (): void => {
        this.#watchers.delete(watcher);
        signal.removeEventListener("abort", watcher);
        resolve();
      };
      this.#watchers.add(watcher);
      signal.addEventListener("abort", watcher);
    });
  }

  #apply(update: AgentUpdate): void {
    if ("artifact" in update) this.#addArtifact(update.artifact, update.append ?? false, update.lastChunk ?? false);
    else this.#setStatus({ state: update.state, message: this.#messageOf(update.text) });
  }

  #messageOf(text: string | undefined): Message | undefined {
    if (text === undefined) return undefined;
    const { id: taskId, contextId } = this.task;
    return create(MessageSchema, {
      messageId: crypto.randomUUID(),
      taskId,
      contextId,
      role: Role.AGENT,
      parts: [{ content: { case: "text", value: text } }],
    });
  }

  #setStatus(init: MessageInitShape<typeof TaskStatusSchema>): void {
    const status: TaskStatus = create(TaskStatusSchema, { ...init, timestamp: timestampNow() });
    const previous = this.task.status?.message;
    if (previous !== undefined) this.task.history.push(previous);
    this.task.status = status;
    this.#onStatus(this);
    const { id: taskId, contextId } = this.task;
    this.#publish({ case: "statusUpdate", value: { taskId, contextId, status } });
  }

  #addArtifact(init: MessageInitShape<typeof ArtifactSchema>, append: boolean, lastChunk: boolean): void {
    const artifact = create(ArtifactSchema, init);
    const { id: taskId, contextId, artifacts } = this.task;
    const known = artifacts.find(({ artifactId }) => artifactId === artifact.artifactId);
    if (append && known !== undefined) known.parts.push(...artifact.parts);
    else artifacts.push(clone(ArtifactSchema, artifact));
    this.#publish({ case: "artifactUpdate", value: { taskId, contextId, artifact, append, lastChunk } });
  }

  #publish(payload: NonNullable<MessageInitShape<typeof StreamResponseSchema>["payload"]>): void {
    this.#updates.push(create(StreamResponseSchema, { payload }));
    for (const watcher of [...this.#watchers]) watcher();
  }
}
