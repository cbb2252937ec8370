/**
 * A wait in real time, for tests in which another process, the kernel or the load of the machine has to have its turn, and for
 * events that must not happen. A test of something that does happen waits for it: by a promise, `expect.poll` or a simulated
 * clock.
 */
export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
