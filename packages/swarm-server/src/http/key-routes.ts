import type { Hono } from 'hono';
import { keyRequestSchema, WireError } from '@agentjet/swarm-wire';
import { audit, type Door } from './door.js';
import { createKey, describeKey, type StoredKey } from './keys.js';

export function addKeys(base: Hono, door: Door): void {
  base.post(
    '/keys',
    door.write('commander', keyRequestSchema, async (swarm, request, { context, key }) => {
      const [least, most] = request.reward_bounds ?? [0, 0];
      if (least > most)
        throw new WireError('invalid_request', `"reward_bounds" are ${least} to ${most}: none is allowed.`);
      if (request.expires_at !== undefined && Date.parse(request.expires_at) <= Date.now())
        throw new WireError(
          'invalid_request',
          `"expires_at" is ${request.expires_at}, which is past: the key would open nothing.`,
        );
      if (swarm.context.ledger.state.keys.has(request.name)) {
        throw new WireError('name_taken', `There is a key "${request.name}". Delete it first if its secret was lost.`);
      }
      const { name, role } = request;
      await audit(swarm, key, { what: 'key_made', name, role });
      const { stored, answer } = createKey(request);
      await swarm.keep(stored.name, stored);
      context.status(201);
      return answer;
    }),
  );
  base.get(
    '/keys',
    door.read('commander', async (swarm) => {
      const stored = [...swarm.context.ledger.state.keys.values()].map(({ content }) => content as StoredKey);
      return {
        keys: stored.map(describeKey),
      };
    }),
  );
  base.delete(
    '/keys/:name',
    door.read('commander', async (swarm, context, own) => {
      const name = context.req.param('name') ?? '';
      if (name === own?.name)
        throw new WireError('invalid_request', `The key "${name}" cannot delete itself. Use another commander's.`);
      const isKnown = swarm.context.ledger.state.keys.has(name);
      if (isKnown) {
        await audit(swarm, own, { what: 'key_deleted', name });
        await swarm.keep(name, null);
      }
      // This also runs for an unknown key, because the server may have been killed during an earlier request.
      await swarm.abandonKey(name);
      return { deleted: isKnown };
    }),
  );
}
