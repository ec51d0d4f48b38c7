import { isJsonObject, requestLimits, valueAtPath } from '@agentjet/core';
import { isPassed, type Protocol, reviewParameters } from '@agentjet/core/parameters';
import { z } from 'zod';
import { ApiError } from './api-error.js';

/**
 * Checks the body of a request against the table of parameters and the schema. A null field counts as absent, as it
 * does for OpenAI. Throws ApiError 400 with the name of the parameter at fault, such as `messages[0].content`. A
 * parameter that is in neither the table nor the schema is refused.
 */
export function parseBody<T>(protocol: Protocol, schema: z.ZodType<T>, body: unknown): T {
  checkCount(body, 'messages', requestLimits.messages);
  checkCount(body, 'input', requestLimits.messages);
  checkCount(body, 'tools', requestLimits.tools);
  checkRefused(protocol, body);
  const parsed = schema.safeParse(isJsonObject(body) ? pickChecked(protocol, schema, body) : body);
  if (parsed.success) return parsed.data;
  const { issue, path } = findCause(parsed.error.issues[0]);
  if (issue?.code === 'unrecognized_keys') {
    const name = toName([...path, issue.keys[0] ?? '']);
    throw new ApiError(
      400,
      'unsupported_parameter',
      `Unsupported parameter: '${name}'. Answers are trained here, so a parameter that cannot be honoured is refused. Leave it out.`,
      name,
    );
  }
  const name = toName(path);
  const value = valueAtPath(body, path);
  if (value === undefined || (value === null && path.length === 1))
    throw new ApiError(400, 'missing_required_parameter', `Missing required parameter: '${name}'.`, name);
  const subject = name === '' ? 'The request body' : `'${name}'`;
  throw new ApiError(
    400,
    'invalid_value',
    `Invalid value: ${subject} ${describe(issue, value)}.`,
    name === '' ? undefined : name,
  );
}

/**
 * Refuses a list with too many entries. Runs before the schema checks each entry, because that takes seconds for a very
 * long list.
 */
function checkCount(body: unknown, name: string, limit: number): void {
  const entries = isJsonObject(body) ? body[name] : undefined;
  if (!Array.isArray(entries) || entries.length <= limit) return;
  const message = `Invalid value: '${name}' has ${entries.length} entries, and at most ${limit} are allowed. Send fewer.`;
  throw new ApiError(400, 'invalid_value', message, name);
}

function checkRefused(protocol: Protocol, body: unknown): void {
  const { refused } = reviewParameters(protocol, body);
  if (refused === undefined) return;
  const { name, reason, isValue } = refused;
  const [code, words] = isValue
    ? ['invalid_value', 'Invalid value']
    : ['unsupported_parameter', 'Unsupported parameter'];
  throw new ApiError(400, code, `${words}: '${name}' ${reason}.`, name);
}

/**
 * Selects the parameters for the schema. It leaves out nulls, and parameters that the table accepts but nothing reads.
 */
function pickChecked(protocol: Protocol, schema: z.ZodType, body: object): object {
  const read = schema instanceof z.ZodObject ? schema.shape : {};
  const isChecked = (name: string): boolean => name in read || !isPassed(protocol, name);
  return Object.fromEntries(Object.entries(body).filter(([name, value]) => value !== null && isChecked(name)));
}

type Issue = z.core.$ZodIssue;
type Path = readonly PropertyKey[];
type Cause = { readonly issue: Issue | undefined; readonly path: Path };

/**
 * Returns the issue to report. If several forms were allowed, it belongs to the form that fits best, unless the schema
 * has its own message.
 */
function findCause(issue: Issue | undefined, above: Path = []): Cause {
  const path = [...above, ...(issue?.path ?? [])];
  if (issue?.code !== 'invalid_union' || issue.message !== 'Invalid input') return { issue, path };
  const [furthest] = issue.errors.flat().toSorted((left, right) => right.path.length - left.path.length);
  return furthest === undefined || furthest.path.length === 0 ? { issue, path } : findCause(furthest, path);
}

/** Formats a path as OpenAI does: `tools[0].function.name`. */
function toName(path: Path): string {
  return path
    .map((key, at) => (typeof key === 'number' ? `[${key}]` : `${at === 0 ? '' : '.'}${String(key)}`))
    .join('');
}

/**
 * Describes what is wrong, as words after a name: the schema's own message, or the value and each form that is allowed.
 */
function describe(issue: Issue | undefined, value: unknown): string {
  if (issue === undefined || issue.message.startsWith('is ')) return issue?.message ?? 'is not a valid request';
  const forms = issue.code === 'invalid_union' && issue.message === 'Invalid input' ? issue.errors.flat() : [issue];
  return `is ${show(value)}; expected ${forms.map(toExpectation).join(', or ')}`;
}

/**
 * Returns the expectation in a message of Zod, such as "Too small: expected number to be >=0" or "Invalid input:
 * expected string, received null".
 */
function toExpectation({ message }: Issue): string {
  return message.replace(/^.*?expected /i, '').replace(/, received .*/s, '');
}

/** Describes a list or an object without its content, which may be of any size and depth. */
function show(value: unknown): string {
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  return JSON.stringify(value).slice(0, 100);
}
