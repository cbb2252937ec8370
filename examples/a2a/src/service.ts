/**
 * The service of A2A 1.0 for one agent, over every binding. It has no authentication, no messages instead of tasks, and, as its
 * card says, no push notifications and no extended card.
 */
import { clone } from "@bufbuild/protobuf";
import type { HandlerContext, Interceptor } from "triple-es";
import {
  type AgentCard,
  type Message,
  type Part,
  type SendMessageRequest,
  SendMessageRequestSchema,
  type Task,
  TaskSchema,
} from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { A2AServiceHandler } from "../../gen/lf/a2a/v1/a2a_triple.ts";
import type { Agent } from "./agent.ts";
import { a2aError, invalidField } from "./errors.ts";
import { assertRequired } from "./required-fields.ts";
import { isSettled, isTerminal, type TaskRecord } from "./task-record.ts";
import { Tasks } from "./tasks.ts";

/** The version of A2A that the service speaks; clients without the header speak 0.3 (specification, section 3.6.2). */
const VERSION = "1.0";

/** Refuses calls in other versions of A2A. */
export const checkVersion: Interceptor = (next) => (request) => {
  const version = request.headers.get("a2a-version") ?? "0.3";
  if (version === VERSION || version.startsWith(`${VERSION}.`)) return next(request);
  throw a2aError("VERSION_NOT_SUPPORTED", `the header a2a-version must be ${VERSION}, not ${version}`);
};

/** Creates the service of an agent, which accepts the media types of its card. */
export function createA2aService(
  agent: Agent,
  { defaultInputModes }: Pick<AgentCard, "defaultInputModes">,
): A2AServiceHandler {
  const tasks = new Tasks();

  /** Finds or creates the task of a message. */
  function taskOf(request: SendMessageRequest): { record: TaskRecord; message: Message } {
    assertRequired(SendMessageRequestSchema, request);
    const { message, configuration } = request;
    if (message === undefined) throw invalidField("message", "is required");
    if (configuration?.taskPushNotificationConfig !== undefined) throw noPushNotifications();
    for (const part of message.parts) {
      const mediaType = mediaTypeOf(part);
      if (defaultInputModes.includes(mediaType)) continue;
      const supported = defaultInputModes.join(", ");
      throw a2aError("CONTENT_TYPE_NOT_SUPPORTED", `${mediaType} is not supported; supported are: ${supported}`);
    }
    const { taskId, contextId } = message;
    if (taskId === "") return { record: tasks.add(contextId || crypto.randomUUID()), message };
    const record = tasks.get(taskId);
    if (contextId !== "" && contextId !== record.task.contextId) {
      throw invalidField("message.contextId", `must be that of the task, ${record.task.contextId}`);
    }
    if (isSettled(record.state) && !isTerminal(record.state)) return { record, message };
    throw a2aError("UNSUPPORTED_OPERATION", `task ${taskId} does not wait for a message`);
  }

  return {
    async sendMessage(request, { signal }) {
      const { historyLength, returnImmediately = false } = request.configuration ?? {};
      const { record, message } = taskOf(request);
      void record.run(agent, message);
      if (!returnImmediately) for await (const _ of record.follow(isSettled, signal));
      return { payload: { case: "task", value: view(record, historyLength) } };
    },

    sendStreamingMessage(request, context) {
      const { record, message } = taskOf(request);
      void record.run(agent, message);
      return record.follow(isSettled, ended(context));
    },

    getTask: ({ id, historyLength }) => view(tasks.get(id), historyLength),

    listTasks(request) {
      const { page, ...rest } = tasks.list(request);
      return {
        tasks: page.map((record) => view(record, request.historyLength, request.includeArtifacts ?? false)),
        ...rest,
      };
    },

    cancelTask({ id }) {
      const record = tasks.get(id);
      if (isTerminal(record.state)) throw a2aError("TASK_NOT_CANCELABLE", `task ${id} has ended`);
      record.cancel();
      return view(record);
    },

    subscribeToTask({ id }, context) {
      const record = tasks.get(id);
      if (isTerminal(record.state)) throw a2aError("UNSUPPORTED_OPERATION", `task ${id} has ended`);
      return record.follow(isTerminal, ended(context));
    },

    getExtendedAgentCard() {
      throw a2aError("UNSUPPORTED_OPERATION", "the agent has no extended card");
    },
    createTaskPushNotificationConfig: refusePushNotifications,
    getTaskPushNotificationConfig: refusePushNotifications,
    listTaskPushNotificationConfigs: refusePushNotifications,
    deleteTaskPushNotificationConfig: refusePushNotifications,
  };
}

/** Fires when the caller has left, or when the server is about to close. */
const ended = ({ signal, draining }: HandlerContext): AbortSignal => AbortSignal.any([signal, draining]);

const noPushNotifications = () => a2aError("PUSH_NOTIFICATION_NOT_SUPPORTED", "the agent sends no push notifications");

function refusePushNotifications(): never {
  throw noPushNotifications();
}

function mediaTypeOf({ mediaType, content }: Part): string {
  if (mediaType !== "") return mediaType;
  if (content.case === "text") return "text/plain";
  return content.case === "data" ? "application/json" : "application/octet-stream";
}

/** Copies a task for a response, with the last messages of its history alone (specification, section 3.2.4). */
function view({ task }: TaskRecord, historyLength = Number.POSITIVE_INFINITY, includeArtifacts = true): Task {
  if (historyLength < 0) throw invalidField("historyLength", "must be at least 0");
  const copy = clone(TaskSchema, task);
  copy.history = copy.history.slice(Math.max(0, copy.history.length - historyLength));
  if (!includeArtifacts) copy.artifacts = [];
  return copy;
}
