/**
 * Precise coverage of V8 in this process: the functions of the runtime's source that have been entered since the last look.
 */
import { Session } from "node:inspector/promises";

const session = new Session();

/** Starts to count. Functions are compiled again, so that they also count after they have been optimized. */
export async function startCoverage(): Promise<void> {
  session.connect();
  await session.post("Profiler.enable");
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
}

/** Returns the functions that have been entered since the last call, by file; two with one name differ by their offset. */
export async function takeCoverage(): Promise<string[]> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  return result.flatMap(({ url, functions }) => {
    const file = /\/runtime\/src\/((?!gen\/).*\.ts)$/.exec(url)?.[1];
    if (file === undefined) return [];
    return functions
      .filter(({ functionName, ranges }) => (ranges[0]?.count ?? 0) > 0 && functionName !== TSX_HELPER)
      .map(({ functionName, ranges }) => `${file} ${functionName || "(anonymous)"} ${ranges[0]?.startOffset}`);
  });
}

/** The function that tsx adds to modules to keep the names of functions. */
const TSX_HELPER = "__name";
