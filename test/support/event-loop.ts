/**
 * Measurement of how long the event loop of this process is blocked.
 */

const TICK_MS = 10;

/**
 * Watches the event loop. Returns the longest block since the last call, in milliseconds: the longest CPU time between two
 * ticks of a timer, which does not depend on the load of the machine.
 */
export function watchEventLoop(): () => number {
  let longest = 0;
  let lastTick = performance.now();
  let lastUsage = process.cpuUsage();
  setInterval(() => {
    const now = performance.now();
    const { user, system } = process.cpuUsage(lastUsage);
    longest = Math.max(longest, Math.min(now - lastTick, (user + system) / 1_000));
    lastTick = now;
    lastUsage = process.cpuUsage();
  }, TICK_MS).unref();
  return () => {
    const block = longest;
    longest = 0;
    return block;
  };
}
