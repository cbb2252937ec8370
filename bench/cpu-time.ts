/** The CPU time of a process, as counted by the scheduler. */
import { readdirSync, readFileSync } from "node:fs";

/** CPU time of all threads of a process; `undefined` if the system does not report it. */
export function onCpuNanoseconds(pid: number): number | undefined {
  try {
    const tasks = `/proc/${pid}/task`;
    let total = 0;
    for (const task of readdirSync(tasks)) {
      // schedstat contains the time on the CPU, the time of waiting for a CPU, and the number of time slices.
      total += Number(readFileSync(`${tasks}/${task}/schedstat`, "latin1").split(" ", 1)[0]);
    }
    return total > 0 ? total : undefined;
  } catch {
    return undefined;
  }
}

/** CPU time of all threads of a process, those that have ended included, to 10 ms. */
export function processCpuMicros(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "latin1").replace(/^.*\)/s, "").split(" ");
  // The fields utime and stime, in ticks of 10 ms.
  return (Number(fields[12]) + Number(fields[13])) * 10_000;
}

/** The on-CPU time of the main thread of this process; `undefined` where the system does not tell. */
export function mainThreadNanoseconds(): number | undefined {
  try {
    // Linux counts the time of a running thread at each tick of its clock only, and whenever the process asks for its
    // own usage.
    process.cpuUsage();
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "latin1").split(" ", 1)[0]);
  } catch {
    return undefined;
  }
}
