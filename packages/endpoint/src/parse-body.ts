import type { ToolSpec } from '@agentjet/core';
import { z } from 'zod';
import { WireError } from './wire-error.js';

/** Validates a request body; the error names the parameter, the OpenAI way. Unknown parameters are refused by name. */
export function parseBody<T>(schema: z.ZodType<T>, body: unknown): T {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const { issue, path } = findCause(parsed.error.issues[0]);
  if (issue?.code === 'unrecognized_keys') {
    const name = [...path, issue.keys[0] ?? ''].join('.');
    throw new WireError(400, 'unsupported_parameter', `Unsupported parameter: '${name}'. This server trains what it samples, so it refuses what it cannot honour.`, name);
  }
  const name = path.join('.');
  if (name !== '' && issue !== undefined && isMissing(issue)) throw new WireError(400, 'missing_required_parameter', `Missing required parameter: '${name}'.`, name);
  const subject = name === '' ? 'The request body' : `'${name}'`;
  throw new WireError(400, 'invalid_value', `Invalid value: ${subject} ${issue === undefined ? 'is not a valid request' : describe(issue)}.`, name === '' ? undefined : name);
}

type Issue = z.core.$ZodIssue;
type Cause = { readonly issue: Issue | undefined; readonly path: readonly PropertyKey[] };

/** Where one of several forms was expected: what is wrong with the form that fits furthest, unless the schema has words of its own. */
function findCause(issue: Issue | undefined, above: readonly PropertyKey[] = []): Cause {
  const path = [...above, ...(issue?.path ?? [])];
  if (issue?.code !== 'invalid_union' || issue.message !== 'Invalid input') return { issue, path };
  const inner = issue.errors.flat();
  const [furthest] = inner.toSorted((left, right) => right.path.length - left.path.length);
  return furthest === undefined || furthest.path.length === 0 ? { issue, path } : findCause(furthest, path);
}

/** Zod tells what was received in its text only. */
function isMissing(issue: Issue): boolean {
  const forms = issue.code === 'invalid_union' ? issue.errors.flat() : [issue];
  return forms.length > 0 && forms.every(({ code, message }) => code === 'invalid_type' && message.endsWith('received undefined'));
}

/** What is wrong, as words behind a name; where no form fits, what is wrong with each. */
function describe(issue: Issue): string {
  if (issue.message.startsWith('is ')) return issue.message;
  const forms = issue.code === 'invalid_union' && issue.errors.length > 0 && issue.message === 'Invalid input' ? issue.errors.flat() : [issue];
  return `is refused: ${forms.map(({ message }) => message.replace(/^Invalid (input|option): |^Too (big|small): /, '')).join('; or ')}`;
}

/** A parameter that is accepted only at the value that changes nothing. */
export const onlyNeutral = (...values: readonly unknown[]): z.ZodType<unknown> =>
  z.unknown().refine((value) => values.some((neutral) => JSON.stringify(neutral) === JSON.stringify(value)), {
    message: `is not supported by this model; leave it out or send ${values.map((value) => JSON.stringify(value)).join(' or ')}`,
  });

export const jsonObject = z.record(z.string(), z.unknown());

export const emptyParameters: ToolSpec['parameters'] = { type: 'object', properties: {} };

type TextPart = { readonly type: string; readonly text?: string | undefined };

/** Content as text: a string, or text parts joined. Other parts (images, files) are refused by name. */
export function toText(content: string | readonly TextPart[] | null | undefined): string {
  if (content === null || content === undefined) return '';
  if (typeof content === 'string') return content;
  return content
    .map((part) => {
      if (typeof part.text === 'string') return part.text;
      throw new WireError(400, 'unsupported_content', `Content of type '${part.type}' is not supported: the model reads text only.`, 'messages');
    })
    .join('');
}
