/** Names that Java accepts. */

const keywords = new Set(
  `abstract assert boolean break byte case catch char class const continue default do double else enum extends false
  final finally float for goto if implements import instanceof int interface long native new null package private
  protected public return short static strictfp super switch synchronized this throw throws transient true try void
  volatile while _`.split(/\s+/),
);

/** Reports whether Java accepts the name for a declaration. */
export function isJavaName(name: string): boolean {
  return /^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(name) && !keywords.has(name);
}

/** Reports whether a name can be part of the path of a call: ASCII only. */
export function isAscii(name: string): boolean {
  return /^[!-~]*$/.test(name);
}

/**
 * Returns the error for a service or method name that is not ASCII. The name is part of an HTTP path, which Dubbo does
 * not percent-encode: Netty's HPACK encoder sends `?` for characters beyond Latin-1.
 */
export function notAscii(name: string, remedy: string): string {
  return `${name} is not ASCII, and Dubbo sends other characters of a call's path as question marks: ${remedy}`;
}

/** Words that are invalid as the name of a class but valid for other declarations. */
const noClasses = new Set(["permits", "record", "sealed", "var", "yield"]);

/** Reports whether the full name is valid for a class, such as `com.acme.Outer$Inner`. */
export function isClassName(name: string): boolean {
  const names = name.slice(name.lastIndexOf(".") + 1).split("$");
  const isClear = new Set(names).size === names.length && !names.some((one) => noClasses.has(one));
  return isClear && name.split(/[.$]/).every(isJavaName);
}

/**
 * Reports whether the word after `@throws` is the full name of a class: words of prose contain no dot before an
 * upper-case letter.
 */
export function isException(name: string): boolean {
  return isClassName(name) && /\.\p{Lu}[^.]*$/u.test(name);
}

/**
 * Returns the class of the JDK that a name refers to, which needs no declaration: the class itself, or the class that
 * hessian-lite sends instead of a class of `java.time`.
 */
export function classOfJdk(javaName: string): string | undefined {
  if (/^javax?\./.test(javaName)) return javaName;
  const [, time] = /^com\.alibaba\.com\.caucho\.hessian\.io\.java8\.(\w+)Handle$/.exec(javaName) ?? [];
  return time === undefined ? undefined : `java.time.${time}`;
}
