/**
 * Copies lists, plain objects, maps, sets, dates and bytes deeply. Functions and instances of other classes are not
 * copied but shared with the original, because only their class knows how to copy them. A value that contains itself is
 * copied once.
 */
export function copyPlain<T>(value: T, copies = new Map<unknown, unknown>()): T {
  if (typeof value !== 'object' || value === null) return value;
  const known = copies.get(value);
  if (known !== undefined) return known as T;
  if (value instanceof Map || value instanceof Set) return copyCollection(value, copies) as T;
  if (Buffer.isBuffer(value)) return Buffer.from(value) as unknown as T;
  if (value instanceof Date || ArrayBuffer.isView(value) || value instanceof ArrayBuffer) return structuredClone(value);
  if (!Array.isArray(value) && !isPlain(value)) return value;
  const copy: unknown[] | Record<string, unknown> = Array.isArray(value) ? [] : {};
  copies.set(value, copy);
  for (const [key, inner] of Object.entries(value)) define(copy, key, copyPlain(inner, copies));
  return copy as T;
}

function copyCollection(
  value: Map<unknown, unknown> | Set<unknown>,
  copies: Map<unknown, unknown>,
): Map<unknown, unknown> | Set<unknown> {
  if (value instanceof Set) {
    const copy = new Set<unknown>();
    copies.set(value, copy);
    for (const member of value) copy.add(copyPlain(member, copies));
    return copy;
  }
  const copy = new Map<unknown, unknown>();
  copies.set(value, copy);
  for (const [key, inner] of value) copy.set(copyPlain(key, copies), copyPlain(inner, copies));
  return copy;
}

/** Defines the key even if it is `__proto__`, which JSON may contain. */
function define(target: object, key: string, value: unknown): void {
  Object.defineProperty(target, key, { value, writable: true, enumerable: true, configurable: true });
}

function isPlain(value: unknown): value is Record<string, unknown> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
