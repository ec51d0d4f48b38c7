import type { Context, Hono } from 'hono';
import {
  configHeaders,
  configRequestSchema,
  idempotencyHeaders,
  operations,
  runRequestSchema,
  sharesRequestSchema,
  tasksRequestSchema,
  WireError,
  type Operation,
  type OperationAnswer,
} from '@agentjet/swarm-wire';
import type { Asked } from '../swarm/operator-routes.js';
import type { Swarm } from '../swarm/swarm.js';
import { requireKeyShares } from '../swarm/episode-answers.js';
import { audit, readHeaders, toClaimKey, type Door } from './door.js';
import type { StoredKey } from './keys.js';
import { anyConfig, type RunConfig } from './run-config.js';

/** The routes of the run as a whole: its tasks, its configuration, and its operations. */
export function addRun(base: Hono, door: Door, { config = anyConfig, standby }: RunOptions): void {
  base.post(
    '/tasks',
    door.write('worker', tasksRequestSchema, async (swarm, request, { key }) => {
      requireKeyShares([request.share], toClaimKey(key));
      return swarm.addTasks(request, askedBy(key));
    }),
  );
  base.put(
    '/run',
    door.write('commander', runRequestSchema, async (swarm, request) => {
      if (request.run !== undefined && request.run !== standby?.name)
        throw new WireError('other_run', `The run ${standby?.name ?? config.run} is open, not ${request.run}.`);
      config.requireSame(request.config);
      return { run: standby?.name ?? config.run, revision: swarm.describe().config_revision };
    }),
  );
  base.delete(
    '/run',
    door.read('commander', async (swarm, context, key) => {
      if (standby === undefined)
        throw new WireError(
          'wrong_method',
          'This server was started for one run. End it on its machine, or start the server with --standby.',
        );
      await audit(swarm, key, { what: 'run_ended' });
      context.status(202);
      standby.end();
      return { run: standby.name, revision: swarm.describe().config_revision };
    }),
  );
  base.put(
    '/shares',
    door.write('commander', sharesRequestSchema, async (swarm, shares, { context, key }) => {
      return swarm.share(shares, readHeaders(context, idempotencyHeaders)['idempotency-key'], askedBy(key));
    }),
  );
  base.post('/run/:operation', door.read('commander', operate));
  base.get(
    '/operations/:id',
    door.read('observer', async (swarm, context) => {
      const id = context.req.param('id') ?? '';
      const known = await swarm.operation(id);
      if (known === undefined) throw new WireError('unknown_operation', `There is no operation ${JSON.stringify(id)}.`);
      return { operation_id: id, ...known } satisfies OperationAnswer;
    }),
  );
  base.patch(
    '/run/config',
    door.write('commander', configRequestSchema, async (swarm, request, { context, key }) => {
      const { 'if-match': ifMatch } = readHeaders(context, configHeaders);
      config.requireChangeable(request.changes);
      return swarm.configure(request, ifMatch, askedBy(key));
    }),
  );
}

/** `end` returns at once, and the run ends a moment later. */
export type StandbyRun = { readonly name: string; readonly end: () => void };

type RunOptions = { readonly config?: RunConfig; readonly standby?: StandbyRun };

/** Carries out an operation. If the operation is already in effect, it returns at once. */
async function operate(swarm: Swarm, context: Context, key: StoredKey | undefined): Promise<OperationAnswer> {
  const operation = toOperation(context.req.param('operation') ?? '');
  const { 'idempotency-key': id = crypto.randomUUID() } = readHeaders(context, idempotencyHeaders);
  await swarm.requireOrder(id, operation);
  const known = await swarm.operation(id);
  const isDone = known?.state === 'done' || isReached(swarm, operation);
  context.status(isDone ? 200 : 202);
  if (known !== undefined) return { operation_id: id, ...known };
  if (operation === 'checkpoint') {
    await swarm.checkpoint(id, askedBy(key));
    return { operation_id: id, ...((await swarm.operation(id)) ?? { operation, state: 'accepted' }) };
  }
  if (!isDone) await swarm.operate(operation, id, askedBy(key));
  return { operation_id: id, operation, state: 'done' };
}

const askedBy = (key: StoredKey | undefined): Asked => ({ by: key?.name ?? '', at: new Date().toISOString() });

function isReached(swarm: Swarm, operation: Operation): boolean {
  const { ledger, policies } = swarm.context;
  const { isPaused, isDraining, isStopped } = ledger.state.operation;
  const hasStopped = policies.some(({ health }) => health.problem !== undefined);
  const reached = {
    start: !isDraining && !isStopped && !hasStopped,
    pause: isPaused,
    resume: !isPaused,
    drain: isDraining,
  };
  return { ...reached, stop: isStopped, checkpoint: false }[operation];
}

function toOperation(name: string): Operation {
  const found = operations.find((operation) => operation === name);
  if (found !== undefined) return found;
  throw new WireError(
    'unknown_operation',
    `There is no operation ${JSON.stringify(name)}; there are ${operations.join(', ')}.`,
  );
}
