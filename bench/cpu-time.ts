/** The time a process has spent on a CPU, as the scheduler keeps it. */
import { readdirSync, readFileSync } from "node:fs";

/** The on-CPU time of all threads of a process; `undefined` where the system does not tell. */
export function onCpuNanoseconds(pid: number): number | undefined {
  try {
    const tasks = `/proc/${pid}/task`;
    let total = 0;
    for (const task of readdirSync(tasks)) {
      // schedstat: time on the CPU, time waiting for one, number of time slices.
      total += Number(readFileSync(`${tasks}/${task}/schedstat`, "latin1").split(" ", 1)[0]);
    }
    return total > 0 ? total : undefined;
  } catch {
    return undefined;
  }
}
