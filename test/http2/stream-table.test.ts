/** The table of open streams: an added stream is found until it is deleted, whatever is added and deleted in between. */
import { describe, expect, it } from "vitest";
import { EngineStream, NO_SINK, type StreamOwner } from "../../runtime/src/http2/stream.ts";
import { StreamTable } from "../../runtime/src/http2/stream-table.ts";

const OWNER = {} as StreamOwner;
const stream = (id: number): EngineStream => new EngineStream(OWNER, id, NO_SINK, 0);

function check(table: StreamTable, model: ReadonlyMap<number, EngineStream>, maxId: number): void {
  expect(table.size).toBe(model.size);
  expect(table.values()).toEqual([...model.values()].sort((a, b) => a.id - b.id));
  for (let id = 0; id <= maxId; id++) expect(table.get(id)).toBe(model.get(id));
}

describe("a stream table", () => {
  it.each([1, 7, 12345])("agrees with a Map over random changes (seed %i)", (seed) => {
    let state = seed;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    const table = new StreamTable();
    const model = new Map<number, EngineStream>();
    for (let step = 0; step < 4_000; step++) {
      const id = 1 + 2 * random(300);
      if (model.has(id) || (model.size > 60 && random(2) === 0)) {
        table.delete(id);
        model.delete(id);
      } else {
        const one = stream(id);
        table.add(one);
        model.set(id, one);
      }
      if (step % 100 === 0) check(table, model, 601);
    }
    check(table, model, 601);
  });

  it("distinguishes streams whose ids have the same slot after earlier ones are deleted", () => {
    const table = new StreamTable();
    const ids = [1, 33, 65, 97, 3];
    const model = new Map(ids.map((id) => [id, stream(id)]));
    for (const one of model.values()) table.add(one);
    for (const id of ids) {
      table.delete(id);
      table.delete(id);
      model.delete(id);
      check(table, model, 100);
    }
  });
});
