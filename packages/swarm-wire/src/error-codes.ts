import { AgentJetError } from '@agentjet/core';
import { z } from 'zod';

/** Every error code with its HTTP status. The list is closed. */
export const errorStatus = {
  invalid_json: 400,
  invalid_request: 400,
  wire_version: 400,
  missing_key: 401,
  unknown_key: 401,
  expired_key: 401,
  wrong_role: 403,
  foreign_episode: 403,
  foreign_origin: 403,
  code_refused: 403,
  unknown_route: 404,
  unknown_group: 404,
  unknown_task: 404,
  unknown_operation: 404,
  unknown_share: 404,
  target_not_trained: 404,
  wrong_method: 405,
  slow_body: 408,
  ended_differently: 409,
  assigned: 409,
  not_whole_group: 409,
  other_run: 409,
  other_task: 409,
  tasks_missing: 409,
  name_taken: 409,
  needs_reload: 409,
  needs_new_run: 409,
  no_run: 409,
  gone: 410,
  revision_conflict: 412,
  too_large: 413,
  metadata_too_large: 413,
  unsupported_media_type: 415,
  reward_out_of_bounds: 422,
  unknown_config: 422,
  too_many_metrics: 422,
  too_many_requests: 429,
  too_many_streams: 429,
  failed: 500,
  not_ready: 503,
  not_owner: 503,
  policy_failed: 503,
  store_failed: 507,
  store_full: 507,
} as const;

export type ErrorCode = keyof typeof errorStatus;

export const errorCodes = Object.keys(errorStatus) as readonly ErrorCode[];

/** The meaning of each code. The OpenAPI document has these sentences. */
export const errorMeanings: Readonly<Record<ErrorCode, string>> = {
  invalid_json: 'The body is not JSON in UTF-8.',
  invalid_request: 'A field, a parameter or a header is missing, unknown or has another type.',
  wire_version: 'The client uses another version of the protocol.',
  missing_key: 'The request has no key.',
  unknown_key: 'The key is not known, or was deleted.',
  expired_key: 'The key has expired.',
  wrong_role: 'The role or the shares of the key do not allow the request.',
  foreign_episode: 'The episode belongs to another client or key.',
  foreign_origin: 'A server without keys answers only programs of its machine.',
  code_refused: 'The configuration names code, and the server takes none from other machines.',
  unknown_route: 'There is nothing at this address.',
  unknown_group: 'There is no such group, or it is over.',
  unknown_task: 'There is no such task.',
  unknown_operation: 'There is no such order.',
  unknown_share: 'The run does not have the share.',
  target_not_trained: 'The target of the call is not trained here.',
  wrong_method: 'The address takes another method.',
  slow_body: 'The body did not come in time.',
  ended_differently: 'The episode ended already, in another way.',
  assigned: 'A step has taken the group already.',
  not_whole_group: 'The rewards are not for exactly the ended episodes of the group.',
  other_run: 'Another run is open.',
  other_task: 'The task is known with another content, or the table is complete.',
  tasks_missing: 'Parts of the list of tasks are missing. Send the list again.',
  name_taken: 'The name or the id is in use.',
  needs_reload: 'The setting can change only between two runs of the server.',
  needs_new_run: 'The setting can change only with a new run.',
  no_run: 'The server waits for its run.',
  gone: 'The episode is over. `details.reason` says why.',
  revision_conflict: 'Somebody else made a change first.',
  too_large: 'The body is too large.',
  metadata_too_large: 'The metadata of the episode is larger than the key allows.',
  unsupported_media_type: 'The body is compressed.',
  reward_out_of_bounds: 'The key does not allow this reward.',
  unknown_config: 'There is no such setting, or it does not take the value.',
  too_many_metrics: 'The key has used more names of metrics than it may.',
  too_many_requests: 'The key sends more requests or bytes than it may. Repeat the request later.',
  too_many_streams: 'The key has more open streams of events than it may.',
  failed: 'The server failed. Its log says why.',
  not_ready: 'The server recovers. Repeat the request.',
  not_owner: 'Another server has taken the ledger over.',
  policy_failed: 'The policy has stopped.',
  store_failed: 'The disk failed. Repeat the request.',
  store_full: 'The disk is nearly full.',
};

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
    this.status = errorStatus[code];
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
