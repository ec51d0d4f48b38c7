import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { ApiError } from '@agentjet/chat-completions';
import type { ChatModel } from '@agentjet/core';
import { isLoopbackAddress, isSameSecret } from '@agentjet/core/servers';
import type { Context } from 'hono';
import { type ConversationDoor, followModel, readConversation, takeFeedback } from './conversations.js';
import { LatestMap } from './latest-map.js';
import { decodeBody, parseJsonText, readWholeBody } from './read-body.js';
import { type EndpointOptions, listenAt, readKey } from './server.js';
import { createSession } from './session.js';

/**
 * Serves one model, without an episode, to everybody who has its key. The data kept about calls (stored responses,
 * idempotency keys) is bounded.
 */

export type ServeOptions = EndpointOptions & {
  /**
   * The key that requests must send. Default: a new random key. Null: requests need no key, but only loopback names are
   * accepted.
   */
  readonly apiKey?: string | null;
  /** Gets the answers by conversation, which requests name as `x-ajet-conversation`, and the feedback of users. */
  readonly conversations?: ConversationDoor | undefined;
};

export interface ModelServer {
  /** The address. It ends in `/v1`. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  close(): Promise<void>;
}

/** How many stored responses and how many idempotency keys are kept. */
const numKept = 1024;

/** Resolves once the server listens. Rejects with the system's error if the port is not available. */
export async function serveModel(model: ChatModel, options: ServeOptions = {}): Promise<ModelServer> {
  const { conversations: door, apiKey = `sk-ajet-${randomBytes(24).toString('base64url')}` } = options;
  const controller = new AbortController();
  setMaxListeners(0, controller.signal); // every running call adds a listener
  const registration = { episodeId: 'serve', agentName: model.name, model, signal: controller.signal };
  const session = createSession('serve', registration, () => new LatestMap(numKept));
  const check = apiKey === null ? checkNames : checkKey(apiKey);
  const authenticate = (context: Context) => {
    check(context);
    if (door === undefined) return session;
    return { ...session, model: followModel(model, readConversation(context), door) };
  };
  const { baseUrl, close } = await listenAt(authenticate, options, (app) => {
    if (door === undefined) return;
    app.post('/v1/feedback', async (context) => {
      check(context);
      const { incoming } = context.env;
      return takeFeedback(parseJsonText(decodeBody(await readWholeBody(incoming, maxFeedbackBytes), incoming)), door);
    });
  });
  return {
    baseUrl,
    apiKey,
    close: () => {
      controller.abort(new Error('the server was closed'));
      return close();
    },
  };
}

const maxFeedbackBytes = 1 << 20;

function checkKey(apiKey: string): (context: Context) => void {
  return (context) => {
    const given = readKey(context);
    if (given === undefined)
      throw new ApiError(
        401,
        'missing_api_key',
        'The request has no API key. Send the key that the server printed, as the header "Authorization: Bearer <key>".',
      );
    if (!isSameSecret(given, apiKey))
      throw new ApiError(401, 'invalid_api_key', 'The API key is not the one that this server printed at its start.');
  };
}

/**
 * Refuses requests whose host or origin is not this machine. Otherwise, a web page could use a server without a key:
 * from another origin, or through a domain that resolves to this machine.
 */
function checkNames(context: Context): void {
  const origin = context.req.header('origin');
  const names = [`http://${context.req.header('host') ?? ''}`, ...(origin === undefined ? [] : [origin])];
  const strange = names.find((name) => !isLoopbackAddress(name));
  if (strange === undefined) return;
  throw new ApiError(
    403,
    'forbidden_origin',
    `This server has no key, so it answers only requests from this machine to this machine. This request names ${JSON.stringify(strange)}. Start the server with a key to use it from elsewhere.`,
  );
}
