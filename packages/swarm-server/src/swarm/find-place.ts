import { mayDraw, nextDraw, type OpenPlace } from '@agentjet/ledger';
import type { ClaimRequest } from '@agentjet/swarm-wire';
import { changesOf } from './config-changes.js';
import type { ClientLives } from './client-lives.js';
import type { SwarmContext } from './swarm-context.js';
import { rulesOf } from './train-loop.js';

/** The place that a claim gets. Undefined: there is none for this client's code now. */
export function findPlace(context: SwarmContext, lives: ClientLives, request: ClaimRequest): OpenPlace | undefined {
  for (;;) {
    const place = findOwnPlace(context, request);
    if (place !== undefined || !supersedeOrphan(context, lives, request)) return place;
  }
}

/** An open group that no client can fill any more, since its code was replaced, would hold up the batch. Its draw comes back. */
function supersedeOrphan({ ledger }: SwarmContext, lives: ClientLives, { revision, purpose }: ClaimRequest): boolean {
  if (purpose === 'evaluation') return false;
  const orphan = ledger.nextPlace(
    (group) => group.purpose === 'train' && group.revision !== revision && !lives.mayRun(group.revision),
  );
  if (orphan !== undefined) ledger.dropGroup(orphan.groupId, 'superseded');
  return orphan !== undefined;
}

/** The oldest open place that this client's code may fill, or that of a new draw. */
function findOwnPlace(
  { ledger, settings, tasks, weights }: SwarmContext,
  { revision, purpose }: ClaimRequest,
): OpenPlace | undefined {
  const place = ledger.nextPlace((group) => {
    return group.revision === revision && (purpose === 'any' || group.purpose === purpose);
  });
  const isOver = weights.version >= settings.maxSteps || !mayDraw(ledger, rulesOf(ledger.state, settings));
  if (place !== undefined || purpose === 'evaluation' || isOver) return place;
  const draw = nextDraw(ledger.state, { isDraining: ledger.state.operation.isDraining });
  const task = draw === undefined ? undefined : tasks.trainingTask(draw.draw);
  if (draw === undefined || task === undefined) return undefined;
  const groupId = `g${draw.draw}.${draw.tryIndex}`;
  const configRevision = ledger.state.configs.at(-1)?.revision ?? 0;
  ledger.openGroup({
    ...draw,
    groupId,
    taskId: task.taskId,
    numPlaces: changesOf(ledger.state).rollout.num_repeat ?? settings.numPlaces,
    revision,
    configRevision,
  });
  return { groupId, place: 0, attempt: 0 };
}
