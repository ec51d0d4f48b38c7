import { ApiError as CallError } from '@agentjet/chat-completions';
import type { AgentIdentity } from '@agentjet/context-tracker';
import { createAgentApp, readKey, type EndpointSession } from '@agentjet/endpoint';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import type { EpisodeKeys } from '../model/episode-keys.js';
import type { SwarmModel } from '../model/swarm-model.js';
import { incomingOf } from './door.js';
import type { KeyLimiter } from './key-limits.js';
import type { StoredKey } from './keys.js';
import { replayOrDrop } from '../swarm/replay-or-drop.js';
import type { Swarm } from '../swarm/swarm.js';
import { toCallError } from '../model/served-episodes.js';

/** A working swarm, and the model of its episodes. */
export type Serving = { readonly swarm: Swarm; readonly model: SwarmModel };

/** Gives the current swarm. After a failure the swarm is opened again; each opening is a life of the swarm. */
export type ServingSource = {
  /** Undefined while the server recovers. */
  readonly serving: Serving | undefined;
  /** The keys stay valid after a recovery. Undefined if no model was ever open. */
  readonly keys: EpisodeKeys | undefined;
  /**
   * Resolves with the next life of the swarm as soon as it works. Resolves with undefined if there is none within
   * `waitMs`.
   */
  readonly opened: (waitMs: number) => Promise<Serving | undefined>;
};

/** The longest time that a call waits for a recovery. HTTP clients give up after 300 s without headers. */
const longestHoldMs = 120_000;

/**
 * Model calls of episodes: `/e/<episode>/<agent>[~<target>]/v1/...`, or `/e/<episode>/v1/...` with the headers
 * `x-ajet-agent` and `x-ajet-target`. The key is checked before the body is read, and it allows calls of only one
 * episode.
 */
export class ModelApp {
  readonly #source: ServingSource;
  readonly #byPath: ReturnType<typeof createAgentApp>;
  readonly #byHeader: ReturnType<typeof createAgentApp>;

  readonly #limiter: KeyLimiter | undefined;

  constructor(source: ServingSource, { limiter, ...options }: ModelAppOptions = {}) {
    this.#source = source;
    this.#limiter = limiter;
    this.#byPath = createAgentApp(
      '/e/:episode/:agent',
      (context) => this.#enter(context, agentOfPath(context.req.url)),
      options,
    );
    this.#byHeader = createAgentApp('/e/:episode', (context) => this.#enter(context, agentOfHeaders(context)), options);
  }

  fetch(request: Request, env: HttpBindings): Response | Promise<Response> {
    const isBare = /^\/e\/[^/]+\/v1\//.test(pathOf(request.url));
    return (isBare ? this.#byHeader : this.#byPath).fetch(request, env);
  }

  /** Counts a call against the limits of the key that claimed its episode. Throws WireError `too_many_requests`. */
  #count({ context: { ledger } }: Swarm, episodeId: string, context: Context): void {
    const { keyName } = ledger.episode(episodeId);
    const stored = keyName === undefined ? undefined : ledger.state.keys.get(keyName);
    if (stored === undefined) return;
    const { 'content-length': bytes = 0 } = incomingOf(context).headers;
    this.#limiter?.take(stored.content as StoredKey, Number(bytes) || 0);
  }

  /** Finds the session of a call. While the server recovers, the call waits. */
  async #enter(context: Context, agent: AgentIdentity): Promise<EndpointSession> {
    const episodeId = context.req.param('episode') ?? '';
    requireKey(readKey(context), episodeId, this.#source.keys);
    const serving = this.#source.serving ?? (await this.#source.opened(longestHoldMs));
    if (serving === undefined)
      throw new CallError(503, 'not_ready', 'The server is recovering. Ask again in a moment.');
    const { swarm, model } = serving;
    requireTrained(agent, model.trainableTargets);
    try {
      swarm.requireRunning(episodeId);
      this.#count(swarm, episodeId, context);
      return await replayOrDrop(swarm.context, episodeId, () => model.episodes.sessionOf(episodeId, agent));
    } catch (error) {
      throw toCallError(error);
    }
  }
}

export type ModelAppOptions = {
  readonly maxBodyBytes?: number;
  /** Counts each call against the limits of the key that claimed its episode. */
  readonly limiter?: KeyLimiter;
};

/** Returns the path and the query of an absolute address. */
export const pathOf = (url: string): string => url.slice(url.indexOf('/', 'https://'.length));

function requireKey(key: string | undefined, episodeId: string, keys: EpisodeKeys | undefined): void {
  if (key === undefined)
    throw new CallError(
      401,
      'missing_api_key',
      'The request has no key. Send the key of the claimed episode as "Authorization: Bearer <key>".',
    );
  if (keys?.opens(key, episodeId) !== true)
    throw new CallError(
      401,
      'invalid_api_key',
      'This key is not valid for this episode. Use the key that came with its claim.',
    );
}

function requireTrained({ agentName, targetTag }: AgentIdentity, targets: readonly string[] | null): void {
  if (targets === null || targets.includes(targetTag)) return;
  throw new CallError(
    404,
    'target_not_trained',
    `The target "${targetTag}" of agent "${agentName}" is not trained here; ${targets.join(', ')} are. Ask the agent's debug model instead.`,
  );
}

/**
 * Reads the agent and its target from the path. Only a literal `~` divides them: a `~` in a name is written as `%7E`.
 */
function agentOfPath(url: string): AgentIdentity {
  const [, , , written = ''] = pathOf(url).split('/');
  const [agentName = '', targetTag = agentName] = written.split('~').map(decode);
  return requireName({ agentName, targetTag });
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % is a part of the name
  }
}

function agentOfHeaders({ req }: Context): AgentIdentity {
  const agentName = req.header('x-ajet-agent') ?? 'agent';
  return requireName({ agentName, targetTag: req.header('x-ajet-target') ?? agentName });
}

function requireName(agent: AgentIdentity): AgentIdentity {
  const { agentName, targetTag } = agent;
  if (agentName !== '' && targetTag !== '' && agentName.length <= 200 && targetTag.length <= 200) return agent;
  throw new CallError(
    404,
    'unknown_url',
    'Name the agent in the address: /e/<episode>/<agent>/v1/..., in at most 200 letters.',
  );
}
