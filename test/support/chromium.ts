/** The browser of the tests, Debian's package `chromium`, and its start. */
export const EXECUTABLE: string = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

export const FLAGS: readonly string[] = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];
