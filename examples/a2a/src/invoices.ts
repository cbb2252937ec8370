/** An agent that sums invoices. Each data part of a message is one: `{"lines": [{"quantity": 3, "price": 4.5}]}`. */
import { fromJson, type JsonValue, toJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { type Message, TaskState } from "../../gen/lf/a2a/v1/a2a_pb.ts";
import type { AgentUpdate } from "./agent.ts";

/** Yields the total of each invoice as a chunk of an artifact, then the sum. Asks for invoices if there are none. */
export async function* sumInvoices({ parts }: Message): AsyncGenerator<AgentUpdate> {
  const invoices = parts.flatMap(({ content }) =>
    content.case === "data" ? [toJson(ValueSchema, content.value)] : [],
  );
  const totals = invoices.map(centsOf);
  const invalid = totals.findIndex(Number.isNaN);
  if (totals.length === 0 || invalid >= 0) {
    const problem = totals.length === 0 ? "There is no invoice" : `Invoice ${invalid + 1} is invalid`;
    yield {
      state: TaskState.INPUT_REQUIRED,
      text: `${problem}: send data parts such as {"lines": [{"quantity": 3, "price": 4.5}]}`,
    };
    return;
  }
  for (const [index, cents] of totals.entries()) {
    const parts = [dataPart({ invoice: index + 1, total: cents / 100 })];
    yield { artifact: { artifactId: "totals", name: "Totals", parts }, append: index > 0 };
  }
  const sum = totals.reduce((total, cents) => total + cents, 0);
  yield {
    artifact: { artifactId: "totals", name: "Totals", parts: [dataPart({ sum: sum / 100 })] },
    append: true,
    lastChunk: true,
  };
  yield { state: TaskState.COMPLETED };
}

/** Returns the total of an invoice in cents; NaN if it is invalid. */
function centsOf(invoice: JsonValue): number {
  const { lines } = Object(invoice) as { lines?: unknown };
  if (!Array.isArray(lines) || lines.length === 0) return Number.NaN;
  return lines.reduce((total: number, line: unknown) => {
    const { quantity, price } = Object(line) as { quantity?: unknown; price?: unknown };
    const isValid = Number.isInteger(quantity) && Number.isFinite(price);
    return isValid ? total + Math.round(Number(quantity) * Number(price) * 100) : Number.NaN;
  }, 0);
}

function dataPart(value: JsonValue) {
  return { content: { case: "data", value: fromJson(ValueSchema, value) } } as const;
}
