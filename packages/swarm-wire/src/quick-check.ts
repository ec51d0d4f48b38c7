import type * as core from 'zod/v4/core';
import { safeParse } from 'zod/v4/core';

/**
 * Compiles a schema of flat bodies into a check that takes a fraction of the schema's time, because it reports no
 * problem and copies nothing inside the body. The check is for bodies that arrive thousands of times. It accepts only
 * bodies that its schema accepts, with the same result. It rejects other valid bodies too, so the schema decides about
 * what it rejects.
 */

/** Returns the request with its defaults, or undefined if the schema has to decide. `body` is parsed JSON. */
export type QuickCheck<Request> = (body: unknown) => Request | undefined;

type Accepts = (value: unknown) => boolean;

type Field = {
  readonly name: string;
  readonly accepts: Accepts;
  /** Whether the field may be absent. */
  readonly isOptional: boolean;
  /** Returns the value of an absent field. Undefined if it stays absent. */
  readonly otherwise: (() => unknown) | undefined;
};

export function createQuickCheck<Schema extends core.$ZodObject>(schema: Schema): QuickCheck<core.output<Schema>> {
  const { shape } = schema._zod.def;
  const fields = Object.entries(shape).map(([name, field]) => toField(name, field as core.$ZodTypes));
  const names = new Set(Object.keys(shape));
  return (body) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return undefined;
    for (const name in body) if (!names.has(name)) return undefined;
    const request: Record<string, unknown> = {};
    for (const { name, accepts, isOptional, otherwise } of fields) {
      const { [name]: value } = body as Readonly<Record<string, unknown>>;
      if (value !== undefined) {
        if (!accepts(value)) return undefined;
        request[name] = value;
      } else if (!isOptional) return undefined;
      else if (otherwise !== undefined) request[name] = otherwise();
    }
    return request as core.output<Schema>;
  };
}

function toField(name: string, schema: core.$ZodTypes): Field {
  const { def } = schema._zod;
  if (def.type !== 'default' && def.type !== 'optional')
    return { name, accepts: toAccepts(schema), isOptional: false, otherwise: undefined };
  const accepts = toAccepts(def.innerType as core.$ZodTypes);
  return { name, accepts, isOptional: true, otherwise: def.type === 'default' ? () => def.defaultValue : undefined };
}

function toAccepts(schema: core.$ZodTypes): Accepts {
  const { def } = schema._zod;
  switch (def.type) {
    case 'nullable': {
      const accepts = toAccepts(def.innerType as core.$ZodTypes);
      return (value) => value === null || accepts(value);
    }
    case 'string':
      return ofType('string', def.checks) ?? ((value) => typeof value === 'string' && safeParse(schema, value).success);
    case 'number':
      return ofType('number', def.checks) ?? (() => false);
    case 'boolean':
      return (value) => typeof value === 'boolean';
    case 'enum': {
      const values = new Set<unknown>(Object.values(def.entries));
      return (value) => values.has(value);
    }
    case 'unknown':
      return () => true;
    case 'array': {
      const accepts = toAccepts(def.element as core.$ZodTypes);
      const passes = toPasses(def.checks);
      return (value) => Array.isArray(value) && passes?.(value as never) === true && value.every(accepts);
    }
    case 'record':
      return isRecordOf(toAccepts(def.valueType as core.$ZodTypes));
    default:
      return () => false;
  }
}

/** Returns undefined if one of the checks is of an unknown kind. */
function ofType(type: 'string' | 'number', checks: Checks): Accepts | undefined {
  const passes = toPasses(checks);
  if (passes === undefined) return undefined;
  if (type === 'string') return (value) => typeof value === 'string' && passes(value as never);
  return (value) => Number.isFinite(value) && passes(value as never);
}

/** Of keys and values that JSON can express. The key `__proto__` would get lost in a copy, so its schema decides. */
function isRecordOf(accepts: Accepts): Accepts {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
    for (const name in value)
      if (name === '__proto__' || !accepts((value as Readonly<Record<string, unknown>>)[name])) return false;
    return true;
  };
}

type Checks = readonly core.$ZodCheck<never>[] | undefined;
type Passes = (value: never) => boolean;

function toPasses(checks: Checks = []): Passes | undefined {
  const all = checks.map(toPass);
  if (all.includes(undefined)) return undefined;
  // Most fields have at most two checks, and a loop takes longer than these calls.
  const [first = () => true, second, ...others] = all.filter((pass) => pass !== undefined);
  if (second === undefined) return first;
  if (others.length === 0) return (value) => first(value) && second(value);
  return (value) => first(value) && second(value) && others.every((passes) => passes(value));
}

function toPass(check: core.$ZodCheck<never>): Passes | undefined {
  const { def } = (check as unknown as core.$ZodChecks)._zod;
  switch (def.check) {
    case 'min_length':
      return ({ length }: { readonly length: number }) => length >= def.minimum;
    case 'max_length':
      return ({ length }: { readonly length: number }) => length <= def.maximum;
    case 'greater_than':
      return (value: number) => value > Number(def.value) || (def.inclusive && value === def.value);
    case 'less_than':
      return (value: number) => value < Number(def.value) || (def.inclusive && value === def.value);
    case 'number_format':
      return def.format === 'safeint' ? Number.isSafeInteger : undefined;
    case 'string_format':
      return patternOf(def);
    default:
      return undefined;
  }
}

function patternOf({ format, pattern }: core.$ZodCheckStringFormatDef): Passes | undefined {
  if (format !== 'regex' || pattern === undefined || pattern.global || pattern.sticky) return undefined;
  return (value: string) => pattern.test(value);
}
