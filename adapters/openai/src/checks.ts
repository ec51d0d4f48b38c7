import { EngineError, isJsonObject } from '@agentjet/core';

/** A request that breaks the API's own rules: the service answers it with 400 and the parameter's name, and so does the client here. */
export class ParameterError extends EngineError {
  readonly parameter: string;

  constructor(parameter: string, message: string) {
    super('bad_request', message);
    this.parameter = parameter;
  }
}

/** Throws ParameterError where the value at this path is of another form. */
export type Check = (value: unknown, path: string) => void;

export function is(form: string, isValid: (value: unknown) => boolean): Check {
  return (value, path) => {
    if (isValid(value)) return;
    throw new ParameterError(path, value === undefined ? `Missing required parameter: '${path}'.` : `Invalid value: '${path}' is ${JSON.stringify(value)?.slice(0, 100)}; it must be ${form}.`);
  };
}

export const text = is('a text', (value) => typeof value === 'string');
export const flag = is('true or false', (value) => typeof value === 'boolean');
const list = is('a list', (value) => Array.isArray(value));
export const object = is('an object', isJsonObject);

export const oneOf = (...values: readonly string[]): Check => is(`one of ${values.join(', ')}`, (value) => values.some((known) => known === value));

export function wholeNumber(from: number, to = Infinity): Check {
  const form = from === -Infinity ? 'a whole number' : `a whole number from ${from}${to === Infinity ? '' : ` to ${to}`}`;
  return is(form, (value) => Number.isInteger(value) && Number(value) >= from && Number(value) <= to);
}

/** Absent and null are the same to the API. */
export function optional(check: Check): Check {
  return (value, path) => {
    if (value !== undefined && value !== null) check(value, path);
  };
}

export function listOf(check: Check): Check {
  return (value, path) => {
    list(value, path);
    if (Array.isArray(value)) value.forEach((entry: unknown, at) => check(entry, `${path}[${at}]`));
  };
}

/** Other fields of the object may hold anything. */
export function shape(fields: Readonly<Record<string, Check>>): Check {
  return (value, path) => {
    object(value, path);
    for (const [name, check] of Object.entries(fields)) check(fieldOf(value, name), path === '' ? name : `${path}.${name}`);
  };
}

export function fieldOf(value: unknown, name: string): unknown {
  return isJsonObject(value) ? value[name] : undefined;
}
