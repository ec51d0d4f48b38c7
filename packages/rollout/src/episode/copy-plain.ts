/**
 * Lists and plain objects anew, all the way down; whatever else is in them (instances, functions) stays the same. A value
 * that holds itself is copied once.
 */
export function copyPlain<T>(value: T, copies = new Map<unknown, unknown>()): T {
  if (!Array.isArray(value) && !isPlain(value)) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as T;
  const copy: unknown[] | Record<string, unknown> = Array.isArray(value) ? [] : {};
  copies.set(value, copy);
  for (const [key, inner] of Object.entries(value)) define(copy, key, copyPlain(inner, copies));
  return copy as T;
}

/** Also where the key is `__proto__`, as JSON may have it. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
