import { AgentJetError } from '@agentjet/core';
import { z } from 'zod';

/** Every error code with its HTTP status, and its meaning for the OpenAPI document. The list is closed. */
const errors = {
  invalid_json: [400, 'The body is not JSON in UTF-8.'],
  invalid_request: [400, 'A field, a parameter or a header is missing, unknown or has another type.'],
  wire_version: [400, 'The client uses another version of the protocol.'],
  missing_key: [401, 'The request has no key.'],
  unknown_key: [401, 'The key is not known, or was deleted.'],
  expired_key: [401, 'The key has expired.'],
  wrong_role: [403, 'The role or the shares of the key do not allow the request.'],
  foreign_episode: [403, 'The episode belongs to another client or key.'],
  foreign_origin: [403, 'A server without keys answers only programs of its machine.'],
  code_refused: [403, 'The configuration names code, and the server takes none from other machines.'],
  unknown_route: [404, 'There is nothing at this address.'],
  unknown_group: [404, 'There is no such group, or it is over.'],
  unknown_task: [404, 'There is no such task.'],
  unknown_operation: [404, 'There is no such order.'],
  unknown_share: [404, 'The run does not have the share.'],
  target_not_trained: [404, 'The target of the call is not trained here.'],
  wrong_method: [405, 'The address takes another method.'],
  slow_body: [408, 'The body did not come in time.'],
  ended_differently: [409, 'The episode ended already, in another way.'],
  assigned: [409, 'A step has taken the group already.'],
  not_whole_group: [409, 'The rewards are not for exactly the ended episodes of the group.'],
  other_run: [409, 'Another run is open.'],
  other_task: [409, 'The task is known with another content, or the table is complete.'],
  tasks_missing: [409, 'Parts of the list of tasks are missing. Send the list again.'],
  name_taken: [409, 'The name or the id is in use.'],
  needs_reload: [409, 'The setting can change only between two runs of the server.'],
  needs_new_run: [409, 'The setting can change only with a new run.'],
  no_run: [409, 'The server waits for its run.'],
  gone: [410, 'The episode is over. `details.reason` says why.'],
  revision_conflict: [412, 'Somebody else made a change first.'],
  too_large: [413, 'The body is too large.'],
  metadata_too_large: [413, 'The metadata of the episode is larger than the key allows.'],
  unsupported_media_type: [415, 'The body is compressed.'],
  reward_out_of_bounds: [422, 'The key does not allow this reward.'],
  unknown_config: [422, 'There is no such setting, or it does not take the value.'],
  too_many_metrics: [422, 'The key has used more names of metrics than it may.'],
  too_many_requests: [429, 'The key sends more requests or bytes than it may. Repeat the request later.'],
  too_many_streams: [429, 'The key has more open streams of events than it may.'],
  failed: [500, 'The server failed. Its log says why.'],
  not_ready: [503, 'The server recovers. Repeat the request.'],
  not_owner: [503, 'Another server has taken the ledger over.'],
  policy_failed: [503, 'The policy has stopped.'],
  store_failed: [507, 'The disk failed. Repeat the request.'],
  store_full: [507, 'The disk is nearly full.'],
} as const;

export type ErrorCode = keyof typeof errors;

export const errorCodes = Object.keys(errors) as readonly ErrorCode[];

export const errorStatus = (code: ErrorCode): number => errors[code][0];

export const errorMeaning = (code: ErrorCode): string => errors[code][1];

export const errorSchema = z.strictObject({
  error: z
    .strictObject({
      code: z.enum(errorCodes as [ErrorCode, ...ErrorCode[]]).describe('The kind of error. The list is closed.'),
      message: z.string().describe('What is wrong, the value seen, and the repair.'),
      retry_after_ms: z.number().int().nonnegative().optional(),
      details: z
        .record(z.string(), z.unknown())
        .optional()
        .describe('More facts for some codes: the reason why an episode is gone, the episodes of a group.'),
    })
    .describe('The error.'),
});

export type ErrorBody = z.infer<typeof errorSchema>;

/** An answer with a status of 400 or more, on either side of the wire. */
export class WireError extends AgentJetError {
  override readonly code: ErrorCode;
  readonly status: number;
  readonly retryAfterMs: number | undefined;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, more: WireErrorDetails = {}) {
    super(code, message);
    this.code = code;
    this.status = errorStatus(code);
    this.retryAfterMs = more.retryAfterMs;
    this.details = more.details;
  }

  toBody(): ErrorBody {
    const { code, message, retryAfterMs, details } = this;
    return {
      error: {
        code,
        message,
        ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }),
        ...(details !== undefined && { details: { ...details } }),
      },
    };
  }
}

type WireErrorDetails = {
  readonly retryAfterMs?: number;
  readonly details?: Readonly<Record<string, unknown>>;
};
