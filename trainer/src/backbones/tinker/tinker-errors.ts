/** Errors from a server's answers: a request that it refuses, or a model that it no longer has. */

import { BackboneError, cutText } from '@agentjet/core';

/** The server has forgotten a future, a model or a session, so it is not known what the server has computed. */
export class LostError extends BackboneError {
  constructor(message: string, cause?: unknown) {
    super('lost', message, { cause });
  }
}

/** The server has understood a request and refuses it. */
export class RefusedError extends BackboneError {
  readonly status: number;
  constructor(message: string, status: number) {
    super('refused', message);
    this.status = status;
  }
}

export function closedError(cause?: unknown): BackboneError {
  return new BackboneError('closed', 'The tinker backbone is closed.', { cause });
}

/** The request and the answer, without the key. */
export type Refusal = {
  readonly baseUrl: string;
  readonly route: string;
  readonly status: number;
  readonly text: string;
};

const lostStatus = [404, 410];

/**
 * Requests to these routes may name objects that were never on the server, so "not found" does not mean that an object
 * was lost.
 */
const namesAnything = ['create_model', 'create_session', 'get_server_capabilities', 'load_weights'];

/**
 * The words by which servers say that a model or session is gone. SkyRL fails the futures of a session without
 * heartbeats, and those of a restarted engine: `Model model_3f not loaded`.
 */
const saysGone =
  /\b(?:model|session)\b(?: ['"]?[\w.:-]+['"]?)? (?:is |was )?(?:not (?:loaded|found)|unloaded|expired)|\bunknown (?:model|session)\b/i;

/** An answer that is not a success. Its status is 200 for a future that failed. */
export function toFailure({ baseUrl, route, status, text }: Refusal): BackboneError {
  const found = cutText(text);
  const shown = status === 200 ? '' : ` (status ${status})`;
  const isGone = (status === 200 || status === 400) && !namesAnything.includes(route) && saysGone.test(found);
  if (isGone || lostStatus.includes(status))
    return new LostError(`${baseUrl} no longer has the model, session or result that ${route} names${shown}: ${found}`);
  if (status === 401 || status === 403)
    return new BackboneError(
      'refused',
      `${baseUrl} refused the key (status ${status}). Set TINKER_API_KEY or tinker.api_key.`,
    );
  return new RefusedError(`${baseUrl} refused ${route}${shown}: ${found}`, status);
}

/**
 * The statuses with which servers refuse a format that they do not support, or a route that exists only for the other
 * format.
 */
const wireRefusals = [400, 404, 405, 406, 415, 422];

export function isWireRefusal(error: unknown): boolean {
  return error instanceof LostError || (error instanceof RefusedError && wireRefusals.includes(error.status));
}
