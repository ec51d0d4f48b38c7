import { valueAtPath } from '@agentjet/core';
import type { z } from 'zod';
import { claimRequestSchema, endRequestSchema, heartbeatRequestSchema } from './episodes.js';
import { WireError } from './error-codes.js';
import { createQuickCheck, type QuickCheck } from './quick-check.js';

/** The checks of bodies that arrive thousands of times. */
const quickChecks: ReadonlyMap<z.ZodType, QuickCheck<unknown>> = new Map<z.ZodType, QuickCheck<unknown>>([
  [claimRequestSchema, createQuickCheck(claimRequestSchema)],
  [endRequestSchema, createQuickCheck(endRequestSchema)],
  [heartbeatRequestSchema, createQuickCheck(heartbeatRequestSchema)],
]);

/**
 * Parses a body by the schema and fills in its defaults. Throws WireError `invalid_request`, whose message has the
 * field, the problem and the value.
 */
export function parseRequest<Value>(schema: z.ZodType<Value>, body: unknown): Value {
  const quick = quickChecks.get(schema)?.(body);
  if (quick !== undefined) return quick as Value;
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.map(String).join('.') ?? '';
  const seen = JSON.stringify(valueAtPath(body, issue?.path ?? []));
  throw new WireError(
    'invalid_request',
    `${field === '' ? 'The body' : `"${field}"`} is invalid: ${issue?.message ?? 'invalid'}. Got ${shorten(seen ?? 'nothing')}.`,
    { details: { field } },
  );
}

/**
 * Parses query parameters or headers. Throws WireError `invalid_request`. The message names the parameter, its value
 * and the problem.
 */
export function parseStrings<Value>(
  schema: z.ZodType<Value>,
  found: Readonly<Record<string, string | undefined>>,
): Value {
  const parsed = schema.safeParse(found);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.code === 'unrecognized_keys' ? (issue.keys[0] ?? '') : String(issue?.path[0] ?? '');
  const value = found[field];
  const seen = value === undefined ? 'missing' : shorten(JSON.stringify(value));
  const problem =
    issue?.code === 'unrecognized_keys' ? 'there is no such parameter' : (issue?.message ?? 'it is invalid');
  throw new WireError('invalid_request', `"${field}" is ${seen}; ${problem}.`, { details: { field } });
}

const shorten = (text: string): string => (text.length > 120 ? `${text.slice(0, 120)}...` : text);
