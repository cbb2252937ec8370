/**
 * The interceptor that records calls into a file. Lines are written in the background, and dropped if the disk is slower than
 * the calls.
 */
import { appendFile, close, fstatSync, openSync } from "node:fs";
import { promisify } from "node:util";
import type { Interceptor } from "../call/call.ts";
import { reportFailure } from "../call/error.ts";
import { assertAmount, assertArrays, assertMembers } from "../call/option.ts";
import { repeat } from "../call/platform.ts";
import { recordCall, redactedNames } from "../observe/call-record.ts";

/** Interval at which lines are written, and further calls may be recorded, in milliseconds. */
const WRITE_MS = 250;
/** Length of the lines that wait to be written above which further ones are dropped, in characters. */
const MAX_WAITING = 4 * 1024 * 1024;

/**
 * Creates an interceptor of a server or client that records calls into a file for `triple-es replay`: one line of JSON for each
 * call when it has ended. Put it first in the list. Throws a `TypeError` for an invalid option, and the error of the file
 * system if the file cannot be opened.
 *
 * Metadata with credentials (`authorization`, `cookie`) and fields with the option `debug_redact` are masked; texts of errors are
 * not. A record has the first 64 KiB and 1,000 messages of each direction of a call. A call never waits for the file: if 4 MiB
 * wait to be written, further calls are dropped. The last line counts them.
 */
export function recordCalls(options: {
  /** Path of the file. It is created for its owner alone (mode 0600); lines are appended to one that exists. */
  readonly file: string;
  /** Most calls recorded in a second; a record takes about 10 µs of CPU time. `Infinity`: all calls. Default: 50. */
  readonly maxPerSecond?: number | undefined;
  /** Size of the file at which the recording ends, in bytes. Default: 64 MiB. */
  readonly maxFileBytes?: number | undefined;
  /** Further names to mask: of metadata, and of fields of messages as JSON spells them. Default: none. */
  readonly redact?: readonly string[] | undefined;
}): Interceptor & {
  /** Ends the recording. Resolves when the file is complete; rejects if its last lines cannot be written. */
  readonly close: () => Promise<void>;
} {
  assertMembers("the options of recordCalls", options, ["file", "maxPerSecond", "maxFileBytes", "redact"]);
  const { file, maxPerSecond = 50, maxFileBytes = 64 * 1024 * 1024, redact = [] } = options;
  if (typeof file !== "string" || file === "") throw new TypeError("file must be the path of a file");
  assertArrays({ redact });
  const names = redactedNames(redact);
  assertAmount("maxPerSecond", maxPerSecond, true);
  const recording = new Recording(file, maxPerSecond, assertAmount("maxFileBytes", maxFileBytes, true));
  const write = (line: string): void => recording.add(line);
  const interceptor: Interceptor = (next) => (request) =>
    recording.takesCall() ? recordCall(next, request, names, write) : next(request);
  return Object.assign(interceptor, { close: () => recording.close("closed") });
}

const append = promisify(appendFile);
const closeFile = promisify(close);

class Recording {
  readonly #path: string;
  readonly #file: number;
  readonly #maxBytes: number;
  readonly #stopTicks: () => void;
  /** Calls that may be recorded now. */
  #tokens: number;
  #bytes: number;
  #lines = "";
  /** Length of the lines that have not been written yet. */
  #waiting = 0;
  #dropped = 0;
  #written: Promise<void> = Promise.resolve();
  #closed: Promise<void> | undefined;

  constructor(path: string, maxPerSecond: number, maxBytes: number) {
    this.#path = path;
    this.#maxBytes = maxBytes;
    this.#file = openSync(path, "a", 0o600);
    this.#bytes = fstatSync(this.#file).size;
    const most = Math.max(1, maxPerSecond);
    this.#tokens = most;
    // A timer costs calls less than a clock that each of them reads.
    this.#stopTicks = repeat(WRITE_MS, () => {
      this.#tokens = Math.min(most, this.#tokens + (maxPerSecond * WRITE_MS) / 1_000);
      this.#write();
    });
  }

  /** Reports whether a call is recorded, and counts it. */
  takesCall(): boolean {
    if (this.#closed !== undefined || this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  add(line: string): void {
    const bytes = Buffer.byteLength(line);
    if (this.#closed !== undefined) return;
    if (this.#waiting + line.length > MAX_WAITING) this.#dropped += 1;
    else if (this.#bytes + bytes > this.#maxBytes) this.close("full").catch(this.#report);
    else {
      this.#bytes += bytes;
      this.#waiting += line.length;
      this.#lines += line;
    }
  }

  /** Writes the last line and closes the file. */
  close(end: "closed" | "full"): Promise<void> {
    this.#closed ??= this.#end(end);
    return this.#closed;
  }

  async #end(end: string): Promise<void> {
    this.#lines += `${JSON.stringify({ end, dropped: this.#dropped })}\n`;
    this.#write();
    try {
      await this.#written;
    } finally {
      await this.#release();
    }
  }

  #write(): void {
    const lines = this.#lines;
    if (lines === "") return;
    this.#lines = "";
    // After an error nothing more is written.
    this.#written = this.#written.then(() => append(this.#file, lines));
    this.#written.then(
      () => {
        this.#waiting -= lines.length;
      },
      (error) => {
        if (this.#closed !== undefined) return;
        this.#report(error);
        this.#closed = this.#release().catch(this.#report);
      },
    );
  }

  #release(): Promise<void> {
    this.#stopTicks();
    return closeFile(this.#file);
  }

  readonly #report = (error: unknown): void => reportFailure(`recording into ${this.#path}`, error);
}
