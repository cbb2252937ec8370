/** Sets a member of an object by a name of a peer. A plain assignment to `__proto__` would change the prototype (prototype pollution). */
export function setMember(target: object, name: string, value: unknown): void {
  if (name !== "__proto__") (target as Record<string, unknown>)[name] = value;
  else Object.defineProperty(target, name, { value, writable: true, enumerable: true, configurable: true });
}
