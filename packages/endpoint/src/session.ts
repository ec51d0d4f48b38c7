import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { ApiError } from '@agentjet/chat-completions';
import type { EndpointRegistration } from '@agentjet/rollout';

/** One agent of one episode, as the endpoint serves it. */
export type EndpointSession = EndpointRegistration & {
  readonly id: string;
  /** Items of stored responses, by response id (`previous_response_id` of the Responses API). */
  readonly history: Map<string, readonly unknown[]>;
  /** Items of stored responses, by their own ids (`item_reference` of the Responses API). */
  readonly items: Map<string, unknown>;
  /** The request id of the newest call with a given body. A client's retry has the same request id. */
  readonly requestIds: Map<string, string>;
  /** The body that each idempotency key was used for. */
  readonly keyedBodies: Map<string, string>;
  /** Saves a stored response so that it survives this process. The answer is sent after that. */
  readonly keep?: (stored: StoredResponse) => Promise<void>;
};

/**
 * A stored response (Responses API), as plain JSON. If it continues another response, `added` has only the new items.
 */
export type StoredResponse = {
  readonly id: string;
  readonly previousId: string | null;
  /** Items of the request, followed by the items of the answer. */
  readonly added: readonly unknown[];
  readonly numOutput: number;
};

/** Adds a stored response to the session. The response that it continues must be there already. */
export function putResponse({ history, items }: EndpointSession, stored: StoredResponse): void {
  const { id, previousId, added, numOutput } = stored;
  history.set(id, [...(previousId === null ? [] : (history.get(previousId) ?? [])), ...added]);
  for (const item of added.slice(added.length - numOutput)) items.set((item as { readonly id: string }).id, item);
}

/** `createMap` creates the maps that keep data about the agent's calls. */
export function createSession(
  id: string,
  target: EndpointRegistration,
  createMap: <V>() => Map<string, V>,
  keep?: EndpointSession['keep'],
): EndpointSession {
  return {
    ...target,
    id,
    ...(keep !== undefined && { keep }),
    history: createMap(),
    items: createMap(),
    requestIds: createMap(),
    keyedBodies: createMap(),
  };
}

const keyPrefix = 'sk-ajet-';

/** Issues signed, unguessable keys. A key is valid until its episode ends or the process exits. */
export class SessionStore {
  readonly #secret = randomBytes(32);
  readonly #sessions = new Map<string, EndpointSession>();

  open(target: EndpointRegistration): string {
    const id = randomBytes(18).toString('base64url');
    this.#sessions.set(
      id,
      createSession(id, target, () => new Map()),
    );
    const end = (): void => void this.#sessions.delete(id);
    if (target.signal.aborted) end();
    else target.signal.addEventListener('abort', end, { once: true });
    return `${keyPrefix}${id}.${this.#sign(id)}`;
  }

  /** Throws ApiError 401 if there is no key or this server did not sign it, and 410 if its episode has ended. */
  authenticate(apiKey: string | undefined): EndpointSession {
    if (apiKey === undefined) throw missingKey();
    const [id, signature, ...rest] = (apiKey.startsWith(keyPrefix) ? apiKey.slice(keyPrefix.length) : '').split('.');
    if (id === undefined || signature === undefined || rest.length > 0 || !this.#matches(id, signature))
      throw unknownKey();
    const session = this.#sessions.get(id);
    // If a key that this server signed has no session, its episode has ended, because sessions are removed with their
    // episodes.
    if (session === undefined) throw endedEpisode();
    return session;
  }

  #sign(id: string): string {
    return createHmac('sha256', this.#secret).update(id).digest('base64url');
  }

  #matches(id: string, signature: string): boolean {
    const expected = Buffer.from(this.#sign(id));
    const given = Buffer.from(signature);
    return expected.length === given.length && timingSafeEqual(expected, given);
  }
}

function missingKey(): ApiError {
  return new ApiError(
    401,
    'missing_api_key',
    'The request has no API key. Send the apiKey that asOpenAIEndpoint() returned, as the header "Authorization: Bearer <apiKey>".',
  );
}

function unknownKey(): ApiError {
  return new ApiError(
    401,
    'invalid_api_key',
    'The API key was not issued by this server. Use the apiKey that asOpenAIEndpoint() returned for this episode.',
  );
}

/** For a key that is valid, but was given to another episode. */
export function otherEpisode(): ApiError {
  return new ApiError(
    401,
    'other_episode',
    'The API key belongs to another episode. Use the apiKey that asOpenAIEndpoint() returned for this episode.',
  );
}

export function endedEpisode(): ApiError {
  return new ApiError(410, 'episode_ended', 'The episode of this API key has ended; its model answers no more calls.');
}
