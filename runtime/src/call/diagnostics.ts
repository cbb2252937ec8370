/**
 * Diagnostics: a line for each event of connections, resolution, picks, retries, GOAWAY and resets. Engines turn them
 * on; off, an event costs one comparison.
 */

/** Writes a line. */
export type WriteLine = (line: string) => void;

/**
 * The writer of diagnostics; `undefined` while they are off. Use it as `diagnostics.write?.(…)`, which then creates no
 * text.
 */
export const diagnostics: { write: WriteLine | undefined } = { write: undefined };
