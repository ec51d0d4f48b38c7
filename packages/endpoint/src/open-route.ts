import type { Server } from 'node:http';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import type { EndpointRoute } from '@agentjet/rollout';

/** What a request that arrives on a route has in its environment: the episode whose keys are valid there. */
export type RouteBindings = HttpBindings & { readonly onlyEpisode?: string };

type Fetch = (request: Request, env: RouteBindings) => Response | Promise<Response>;

/** Serves the APIs on streams to the agents of one episode. Nothing listens, so nothing else can connect. */
export function openRoute(fetch: Fetch, episodeId: string): EndpointRoute {
  const server = createAdaptorServer({
    fetch: (request, env) => fetch(request, { ...(env as HttpBindings), onlyEpisode: episodeId }),
  }) as Server;
  const waiting = new WaitingTime();
  server.prependListener('request', (_request, response) => response.once('close', waiting.begin()));
  const open = new Set<{ destroy(): unknown }>();
  return {
    accept: (stream) => {
      open.add(stream);
      stream.once('close', () => open.delete(stream));
      server.emit('connection', stream);
    },
    waitedMs: () => waiting.total(),
    close: () => {
      for (const stream of open) stream.destroy();
    },
  };
}

/** Adds up the time in which at least one request was being answered. */
class WaitingTime {
  #running = 0;
  #since = 0;
  #ended = 0;

  /** Returns the function that ends this request. */
  begin(): () => void {
    if (this.#running++ === 0) this.#since = performance.now();
    return () => {
      if (--this.#running === 0) this.#ended += performance.now() - this.#since;
    };
  }

  total(): number {
    return this.#ended + (this.#running > 0 ? performance.now() - this.#since : 0);
  }
}
