/** Errors from a server's answers: a request that it refuses, or a model that it no longer has. */

import { BackboneError, cutText } from '@agentjet/core';

/** The server has forgotten a future, a model or a session, so nobody knows what it has computed. */
export class LostError extends BackboneError {
  constructor(message: string, cause?: unknown) {
    super('lost', message, { cause });
  }
}

/** The server has understood a request and does not take it. */
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
 * These routes name things that may never have been on the server, so "not found" does not mean that something was
 * lost.
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
    return new LostError(`${baseUrl} does not know what ${route} is about${shown}: ${found}`);
  if (status === 401 || status === 403)
    return new BackboneError(
      'refused',
      `${baseUrl} refused the key (status ${status}). Set TINKER_API_KEY or tinker.api_key.`,
    );
  return new RefusedError(`${baseUrl} refused ${route}${shown}: ${found}`, status);
}

/**
 * The statuses by which servers refuse a body of another kind than theirs, or a route that they have for one kind
 * alone.
 */
const wireRefusals = [400, 404, 405, 406, 415, 422];

export function isWireRefusal(error: unknown): boolean {
  return error instanceof LostError || (error instanceof RefusedError && wireRefusals.includes(error.status));
}
