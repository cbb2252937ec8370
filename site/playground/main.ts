/**
 * The script of the playground. Each change of the proto file generates the code again; the button calls the handlers over a
 * server in memory.
 */
import type { DescMethod, FileRegistry } from "@bufbuild/protobuf";
import { RpcError } from "triple-es";
import { compile, ProtoError } from "./compile.ts";
import { HANDLERS, PROTO } from "./example.ts";
import { handlersOf, requestOf } from "./handlers.ts";
import { call, generate, registryOf } from "./service.ts";

/** The members of elements that the script uses. */
interface Element {
  value: string;
  textContent: string;
  hidden: boolean;
  className: string;
  addEventListener(type: string, listener: () => void): void;
  replaceChildren(...children: Element[]): void;
  setSelectionRange(start: number, end: number): void;
  focus(): void;
}

declare const document: { getElementById(id: string): Element; createElement(name: string): Element };

const [proto, problem, file, code, handlers, method, protocol, request, button, result, wire] = [
  ...["proto", "problem", "file", "code", "handlers", "method", "protocol", "request", "call", "result", "wire"],
].map((id) => document.getElementById(id)) as [
  Element,
  Element,
  Element,
  Element,
  Element,
  Element,
  Element,
  Element,
  Element,
  Element,
  Element,
];

let files: ReadonlyMap<string, string> = new Map();
let registry: FileRegistry;
let methods = new Map<string, DescMethod>();
let error: ProtoError | undefined;
let generatedHandlers = HANDLERS;
let lastNeeded = "";
let generatedRequest = "";
/** The number of calls, so that a call that is still running does not write into the result of the next one. */
let calls = 0;

proto.value = PROTO;
handlers.value = HANDLERS;
update();
proto.addEventListener("input", update);
file.addEventListener("change", showFile);
method.addEventListener("change", () => {
  fillHandlers();
  fillRequest();
});
button.addEventListener("click", () => void makeCall());
problem.addEventListener("click", () => {
  const lines = proto.value.split("\n").slice(0, (error?.line ?? 1) - 1);
  const offset = lines.join("\n").length + Math.min(lines.length, 1) + (error?.column ?? 1) - 1;
  proto.focus();
  proto.setSelectionRange(offset, offset);
});

/** Compiles and generates; keeps the code of the last valid proto file if it fails. */
function update(): void {
  error = undefined;
  problem.hidden = true;
  try {
    const descriptor = compile(proto.value, "playground.proto");
    files = generate(descriptor);
    registry = registryOf(descriptor);
  } catch (reason) {
    error = reason instanceof ProtoError ? reason : new ProtoError(String(reason), proto.value, 0);
    problem.textContent = `line ${error.line}, column ${error.column}: ${error.message}`;
    problem.hidden = false;
    return;
  }
  fillOptions(file, [...files.keys()]);
  showFile();
  const services = [...registry].filter((one) => one.kind === "service");
  methods = new Map(services.flatMap(({ name, methods }) => methods.map((one) => [`${name}.${one.name}`, one])));
  fillOptions(method, [...methods.keys()]);
  fillHandlers();
  fillRequest();
}

/** Replaces the options, and keeps the choice if it is still there. */
function fillOptions(select: Element, names: readonly string[]): void {
  const { value } = select;
  const options = names.map((name) =>
    Object.assign(document.createElement("option"), { value: name, textContent: name }),
  );
  select.replaceChildren(...options);
  select.value = names.includes(value) ? value : (names[0] ?? "");
}

function showFile(): void {
  code.value = files.get(file.value) ?? "There is no service.";
}

/** Replaces handlers that the visitor has not changed, if the proto file needs others. */
function fillHandlers(): void {
  const service = methods.get(method.value)?.parent;
  if (service === undefined) return;
  const needed = handlersOf(service);
  if (lastNeeded !== "" && needed !== lastNeeded && handlers.value === generatedHandlers) {
    generatedHandlers = needed;
    handlers.value = needed;
  }
  lastNeeded = needed;
}

/** Replaces a request that the visitor has not changed. */
function fillRequest(): void {
  const chosen = methods.get(method.value);
  if (chosen === undefined || request.value !== generatedRequest) return;
  generatedRequest = requestOf(chosen);
  request.value = generatedRequest;
}

async function makeCall(): Promise<void> {
  const chosen = methods.get(method.value);
  if (chosen === undefined) return;
  const number = ++calls;
  const whileCurrent = (action: () => void): void => {
    if (number === calls) action();
  };
  result.textContent = "";
  result.className = "";
  wire.textContent = "";
  const add = (line: string): void => whileCurrent(() => (result.textContent += `${line}\n`));
  try {
    await call(
      {
        method: chosen,
        handlers: handlers.value,
        request: request.value,
        protocol: protocol.value as "grpc" | "http-rpc",
        registry,
      },
      (message) => add(JSON.stringify(message)),
      ({ request, response }) => whileCurrent(() => (wire.textContent = `${request}\n\n${response}`)),
    );
  } catch (reason) {
    add(reason instanceof RpcError ? reason.message : String(reason));
    whileCurrent(() => (result.className = "failed"));
  }
}
