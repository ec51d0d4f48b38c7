/**
 * Checks for the bodies that come thousands of times: a claim and an end. Zod takes longer over one of them than the server
 * takes to answer it. A quick check says yes only to what its schema takes too, with the same result; of all else it says
 * nothing, and the schema decides and explains.
 */

/** The request, with its defaults; undefined if the schema has to look. */
export type QuickCheck<Request> = (body: unknown) => Request | undefined;

export type QuickField = {
  readonly accepts: (value: unknown) => boolean;
  /** What a missing field means; undefined: it is left out. Absent: the field may not be missing. */
  readonly otherwise?: (() => unknown) | undefined;
};

/** For bodies that JSON can say. */
export function createQuickCheck<Request>(fields: Readonly<Record<string, QuickField>>): QuickCheck<Request> {
  const known = Object.entries(fields).map(([name, field]) => ({ name, ...field, isNeeded: !('otherwise' in field) }));
  const names = new Set(Object.keys(fields));
  return (body) => {
    if (!isPlain(body)) return undefined;
    for (const name in body) if (!names.has(name)) return undefined;
    const request: Record<string, unknown> = {};
    for (const { name, accepts, otherwise, isNeeded } of known) {
      const value = body[name];
      if (value !== undefined) {
        if (!accepts(value)) return undefined;
        request[name] = value;
      } else if (isNeeded) return undefined;
      else if (otherwise !== undefined) request[name] = otherwise();
    }
    return request as Request;
  };
}

/** An object of a JSON text. Under the name `__proto__` a copy would not be equal. */
function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !Object.hasOwn(value, '__proto__');
}

export const isText =
  (least: number, most: number) =>
  (value: unknown): boolean =>
    typeof value === 'string' && value.length >= least && value.length <= most;

export const isNumber = (value: unknown): boolean => Number.isFinite(value);

export const isIntegerIn =
  (least: number, most: number) =>
  (value: unknown): boolean =>
    Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;

export const isOneOf = (...names: readonly string[]): ((value: unknown) => boolean) => {
  const all: ReadonlySet<unknown> = new Set(names);
  return (value) => all.has(value);
};

export const isOrNull =
  (accepts: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === null || accepts(value);

export const isListOf =
  (accepts: (value: unknown) => boolean, least: number, most: number) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.length >= least && value.length <= most && value.every(accepts);

export const isRecordOf =
  (accepts: (value: unknown) => boolean) =>
  (value: unknown): boolean => {
    if (!isPlain(value)) return false;
    for (const name in value) if (!accepts(value[name])) return false;
    return true;
  };
