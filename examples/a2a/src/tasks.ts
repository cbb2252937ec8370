/** The tasks of an agent, in memory: at most 1,000, of which the finished ones are forgotten first. */
import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code, RpcError } from "triple-es";
import type { ListTasksRequest } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import { a2aError, invalidField } from "./errors.ts";
import { isTerminal, TaskRecord } from "./task-record.ts";

const MAX_TASKS = 1_000;
const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 100;

export class Tasks {
  /** By id; the task whose status has changed last is the last one. */
  readonly #records = new Map<string, TaskRecord>();
  /** The numbers of the last changes of tasks, which page tokens contain. */
  readonly #changes = new Map<string, number>();
  #change = 0;

  add(contextId: string): TaskRecord {
    if (this.#records.size >= MAX_TASKS) this.#forget();
    return new TaskRecord(contextId, (record) => {
      const { id } = record.task;
      this.#records.delete(id);
      this.#records.set(id, record);
      this.#changes.set(id, ++this.#change);
    });
  }

  get(id: string): TaskRecord {
    const record = this.#records.get(id);
    if (record === undefined) throw a2aError("TASK_NOT_FOUND", `there is no task ${JSON.stringify(id)}`);
    return record;
  }

  /** Returns a page of the tasks that match, the one whose status has changed last first, and the token of the next page. */
  list(request: ListTasksRequest) {
    const { contextId, status, pageSize = DEFAULT_PAGE_SIZE, pageToken, statusTimestampAfter } = request;
    if (pageSize < 1 || pageSize > MAX_PAGE_SIZE) throw invalidField("pageSize", `must be 1 to ${MAX_PAGE_SIZE}`);
    const before = pageToken === "" ? Number.POSITIVE_INFINITY : Number(pageToken);
    if (Number.isNaN(before)) throw invalidField("pageToken", "must be one of a response");
    const matching = [...this.#records.values()]
      .reverse()
      .filter(
        ({ task, state }) =>
          (contextId === "" || task.contextId === contextId) &&
          (status === 0 || state === status) &&
          millisOf(task.status?.timestamp) >= millisOf(statusTimestampAfter),
      );
    const left = matching.filter(({ task }) => this.#changeOf(task.id) < before);
    const page = left.slice(0, pageSize);
    const last = page.at(-1);
    const nextPageToken = last !== undefined && left.length > page.length ? `${this.#changeOf(last.task.id)}` : "";
    return { page, nextPageToken, pageSize, totalSize: matching.length };
  }

  #changeOf(id: string): number {
    return this.#changes.get(id) ?? 0;
  }

  #forget(): void {
    const oldest = [...this.#records.values()].find(({ state }) => isTerminal(state));
    if (oldest === undefined) throw new RpcError(Code.ResourceExhausted, `there are ${MAX_TASKS} unfinished tasks`);
    this.#records.delete(oldest.task.id);
    this.#changes.delete(oldest.task.id);
  }
}

const millisOf = (time: Timestamp | undefined): number => (time === undefined ? 0 : timestampMs(time));
