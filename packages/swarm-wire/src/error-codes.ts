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

export const errorSchema = z.strictObject({
  error: z.strictObject({
    code: z.enum(errorCodes as [ErrorCode, ...ErrorCode[]]),
    message: z.string(),
    retry_after_ms: z.number().int().nonnegative().optional(),
    /** More facts for some codes, such as the reason why an episode is gone, or the episodes that a group has. */
    details: z.record(z.string(), z.unknown()).optional(),
  }),
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
