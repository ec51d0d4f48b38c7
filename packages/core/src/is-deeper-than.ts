/** Whether a value has more lists and objects in one another than `depth`. Looks no deeper, and visits the strings that it passes. */
export function isDeeperThan(depth: number, value: unknown, visit?: (text: string) => void): boolean {
  if (typeof value === 'string') visit?.(value);
  if (typeof value !== 'object' || value === null) return false;
  if (depth === 0) return true;
  for (const key in value) if (isDeeperThan(depth - 1, Reflect.get(value, key), visit)) return true;
  return false;
}
