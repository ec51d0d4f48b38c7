import { Validator, type Schema } from '@cfworker/json-schema';

/** Keywords whose errors only say that a nested value does not match. */
const outer = new Set(['properties', 'items', 'prefixItems', 'allOf', '$ref', '$dynamicRef', '$recursiveRef']);

/**
 * Returns where and why a value does not match a JSON schema, or undefined if it matches. Also returns undefined if the
 * schema cannot be read, because that is not the model's mistake.
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
