import { z } from 'zod';

/** Schemas of query parameters and of headers, which arrive as strings. */

/** A string of digits. The OpenAPI document describes it as a whole number. */
const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'it must be a whole number from 0')
  .transform(Number);

export const episodeStates = ['running', 'ended', 'pooled', 'assigned', 'trained', 'evaluated', 'dropped'] as const;

/** An enumeration whose error lists the values. */
const oneOf = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, { error: `there are ${values.join(', ')}` });

export const serverQuerySchema = z.strictObject({
  after: wholeNumber
    .optional()
    .describe('The `change` of an earlier answer. The request is answered as soon as there is a newer change.'),
  wait: wholeNumber.optional().describe('How many seconds to wait for a change, at most 30. Default: 0.'),
});

export const episodesQuerySchema = z.strictObject({
  after: z.string().optional().describe('The `next` of the previous page.'),
  state: oneOf(episodeStates).optional().describe('Only episodes in this state.'),
  limit: wholeNumber.optional().describe('The number of episodes, at most 1,000. Default: 100.'),
});

/** The query for a list of groups. */
export const groupsQuerySchema = z.strictObject({
  state: oneOf(['unscored', 'open'])
    .optional()
    .describe('`unscored`: groups that wait for rewards. `open`, the default: all groups that no step has taken.'),
  after: z.string().optional().describe('The `next` of the previous page.'),
  limit: wholeNumber.optional().describe('The number of groups, at most 1,000. Default: 1,000.'),
});

export const auditQuerySchema = z.strictObject({
  after: wholeNumber.optional().describe('The `next` of the previous page.'),
  limit: wholeNumber.optional().describe('The number of orders, at most 1,000. Default: 1,000.'),
});

export const dropQuerySchema = z.strictObject({
  key: z
    .string({ error: 'name the key whose episodes are dropped' })
    .min(1, 'name the key whose episodes are dropped')
    .describe('The name of the key with which the episodes were claimed.'),
});

export const checkpointQuerySchema = z.strictObject({
  policy: z.string().optional().describe('The policy, in a run with several policies.'),
});

export const idempotencyHeaders = z.object({
  'idempotency-key': z
    .string()
    .min(1)
    .max(200, 'it must have at most 200 characters')
    .optional()
    .describe('An id of the order. A repeated order with the same id is carried out once.'),
});

export const configHeaders = z.object({
  'if-match': z
    .string({ error: 'name the revision that is changed: "If-Match: <number>"' })
    .regex(/^\d{1,15}$/, 'name the revision that is changed: "If-Match: <number>"')
    .transform(Number)
    .describe('The `config_revision` that the request changes.'),
});

export const eventsHeaders = z.object({
  'last-event-id': z
    .string()
    .optional()
    .describe('The id of the last event that the client has seen. Later events are sent.'),
});

export const rangeHeaders = z.object({
  range: z.string().optional().describe('A part of the file, such as `bytes=0-1023`.'),
});

/** Headers that every request may have. */
export const commonHeaders = z.object({
  'x-ajet-wire': z.literal('1').optional().describe('The version of this protocol. Another version is refused.'),
  'x-request-id': z.string().optional().describe('An id for the log of the server. An error has it as a header too.'),
});

/** Headers that every model call may have. */
export const callHeaders = z.object({
  'idempotency-key': z.string().optional().describe('An id of the call. A repeated call gets the recorded answer.'),
  'x-ajet-train': z.literal('false').optional().describe('`false`: the answer is not trained.'),
});

/** Headers that name the agent of a model call whose address does not name it. */
export const agentHeaders = z.object({
  'x-ajet-agent': z.string().max(200).optional().describe('The name of the agent. Default: agent.'),
  'x-ajet-target': z.string().max(200).optional().describe('The target that learns from the call. Default: the agent.'),
});

/**
 * The version of the protocol. A client sends it with every request, and a server refuses any other version with an
 * error that names it.
 */
export const wireVersion = '1';

export const wireVersionHeader = 'x-ajet-wire';
