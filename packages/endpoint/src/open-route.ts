import type { Server } from 'node:http';
import { createAdaptorServer, type HttpBindings } from '@hono/node-server';
import type { EndpointRoute, RouteClock } from '@agentjet/rollout';

/** What a request that arrives on a route has in its environment: the episode whose keys are valid there, and its clock. */
export type RouteBindings = HttpBindings & { readonly onlyEpisode?: string; readonly clock?: RouteClock };

type Fetch = (request: Request, env: RouteBindings) => Response | Promise<Response>;

/** Serves the APIs on streams to the agents of one episode. Nothing listens, so nothing else can connect. */
export function openRoute(fetch: Fetch, episodeId: string, clock: RouteClock): EndpointRoute {
  const server = createAdaptorServer({
    fetch: (request, env) => fetch(request, { ...(env as HttpBindings), onlyEpisode: episodeId, clock }),
  }) as Server;
  const open = new Set<{ destroy(): unknown }>();
  return {
    accept: (stream) => {
      open.add(stream);
      stream.once('close', () => open.delete(stream));
      server.emit('connection', stream);
    },
    close: () => {
      for (const stream of open) stream.destroy();
    },
  };
}
