/** Names that Java accepts. */

const keywords = new Set(
  `abstract assert boolean break byte case catch char class const continue default do double else enum extends false
  final finally float for goto if implements import instanceof int interface long native new null package private
  protected public return short static strictfp super switch synchronized this throw throws transient true try void
  volatile while _`.split(/\s+/),
);

/** Whether something in Java can have the name. */
export function isJavaName(name: string): boolean {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) && !keywords.has(name);
}

/** Whether a class can have the full name, such as `com.acme.Outer$Inner`. */
export function isClassName(name: string): boolean {
  return name.split(/[.$]/).every(isJavaName);
}
