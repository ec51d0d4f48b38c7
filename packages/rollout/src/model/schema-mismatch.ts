import { Validator, type Schema } from '@cfworker/json-schema';

/** Keywords whose errors only say that something inside of the value does not match. */
const outer = new Set(['properties', 'items', 'prefixItems', 'allOf', '$ref', '$dynamicRef', '$recursiveRef']);

/**
 * Where and why a value does not match a JSON schema; undefined if it matches. Also undefined for a schema that cannot be read, since
 * that is not the model's mistake.
 */
export function findMismatch(schema: Readonly<Record<string, unknown>>, value: unknown): string | undefined {
  try {
    const { errors } = new Validator(schema as Schema).validate(value);
    const error = errors.find(({ keyword }) => !outer.has(keyword)) ?? errors[0];
    return error && `${error.instanceLocation.replace(/^#\/?/, '') || 'the whole'}: ${error.error}`;
  } catch {
    return undefined;
  }
}
