/**
 * The client under test, started once: makes the calls that the runner describes, and reports each result. With the argument
 * `--worker URL`, a worker or a page makes them.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { answer } from "./call.ts";
import { connect } from "./connect.ts";
import {
  type ClientCompatRequest,
  ClientCompatRequestSchema,
  ClientCompatResponseSchema,
} from "./gen/connectrpc/conformance/v1/client_compat_pb.ts";
import { readMessages, writeMessage } from "./pipe.ts";

const [, , option, url] = process.argv;

async function askWorker(request: ClientCompatRequest) {
  const body = toBinary(ClientCompatRequestSchema, request);
  const response = await fetch(url as string, { method: "POST", body });
  if (response.ok) return fromBinary(ClientCompatResponseSchema, new Uint8Array(await response.arrayBuffer()));
  const message = `the worker answered ${response.status}: ${await response.text()}`;
  return create(ClientCompatResponseSchema, {
    testName: request.testName,
    result: { case: "error", value: { message } },
  });
}

const run = async (request: ClientCompatRequest): Promise<void> =>
  writeMessage(
    ClientCompatResponseSchema,
    await (option === "--worker" ? askWorker(request) : answer(request, connect)),
  );

/** With more calls at a time, the timing of cancellations would depend on the load of this process. */
const MAX_RUNNING = 16;
const running = new Set<Promise<void>>();
for await (const request of readMessages(ClientCompatRequestSchema)) {
  const task = run(request).finally(() => running.delete(task));
  running.add(task);
  if (running.size >= MAX_RUNNING) await Promise.race(running);
}
await Promise.all(running);
