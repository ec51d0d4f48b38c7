import { drawName, drawPrefix } from '@agentjet/core';
import { defaultShare, nextDraw, shareOf, type NextDraw, type OpenPlace } from '@agentjet/ledger';
import type { ClaimRequest } from '@agentjet/swarm-wire';
import { changesOf } from './config-changes.js';
import { hasPolicies, isComplete, isDown, type SwarmContext } from './swarm-context.js';
import { isEnding, sharesToDraw } from './share-watch.js';
import type { DrawnTask } from './trainer-port.js';

/** Returns the place that a claim gets, or undefined if this client's code cannot fill any place now. */
export function findPlace(context: SwarmContext, request: ClaimRequest): OpenPlace | undefined {
  for (;;) {
    const place = findOwnPlace(context, request);
    if (place !== undefined || !supersedeOrphan(context, request)) return place;
  }
}

/**
 * Drops open groups that no client can fill because their code was replaced. Otherwise they would block the batch.
 * Their tasks are drawn again.
 */
function supersedeOrphan({ ledger, lives }: SwarmContext, { revision, purpose, can }: ClaimRequest): boolean {
  if (purpose === 'evaluation') return false;
  const orphan = ledger.nextPlace(
    (group) =>
      group.purpose === 'train' &&
      can.includes(shareOf(group)) &&
      group.revision !== revision &&
      !lives.mayRun(group.revision),
  );
  if (orphan !== undefined) ledger.dropGroup(orphan.groupId, 'superseded');
  return orphan !== undefined;
}

/**
 * Returns the oldest open place that this client's code may fill. If there is none, it draws a new task from the share
 * that lacks the most groups.
 */
function findOwnPlace(context: SwarmContext, request: ClaimRequest): OpenPlace | undefined {
  const { ledger, policies } = context;
  const { revision, purpose, can } = request;
  const place = ledger.nextPlace((group) => {
    const isOurs = group.revision === revision && can.includes(shareOf(group));
    return isOurs && (purpose === 'any' || group.purpose === purpose);
  });
  const isOver = policies.every(isComplete); // the last step is decided, even if it is not made yet
  if (place !== undefined || purpose === 'evaluation' || isOver) return place;
  for (const share of sharesToDraw(context)) {
    const drawn = can.includes(share) ? drawGroup(context, share, revision) : undefined;
    if (drawn !== undefined) return drawn;
  }
  return undefined;
}

function drawGroup(context: SwarmContext, share: string, revision: string): OpenPlace | undefined {
  const { ledger, settings, tasks } = context;
  const { state } = ledger;
  const draw = nextDraw(state, { share, isDraining: isEnding(context) });
  const task = draw === undefined ? undefined : tasks.trainingTask(draw.draw, share);
  if (draw === undefined || task === undefined) return undefined;
  const prefix = share === defaultShare ? 'g' : `g-${share}-`;
  const groupId = `${prefix}${draw.draw}.${draw.tryIndex}`;
  const configRevision = state.configs.at(-1)?.revision ?? 0;
  ledger.openGroup({
    ...draw,
    ...(share !== defaultShare && { share }),
    groupId,
    taskId: task.taskId,
    ...(task.table !== undefined && { table: task.table }),
    rank: rankOf(task, draw, share),
    numPlaces: changesOf(context).rollout.num_repeat ?? settings.numPlaces,
    revision,
    configRevision,
    ...(settings.rules.order === 'drawn' && { isDrawn: true }),
    ...(hasPolicies(context) && { policies: trainingPolicies(context) }),
  });
  return { groupId, place: 0, attempt: 0 };
}

/** Returns the key by which an ordinary run would sort this group in its batch. */
const rankOf = ({ taskId, pass = 0 }: DrawnTask, { expiries }: NextDraw, share: string): string =>
  drawName(`${share === defaultShare ? '' : `${share}/`}${drawPrefix(pass, expiries)}`, { taskId });

/**
 * Returns the policies that new groups are for. They exclude policies that have stopped or whose steps are all decided.
 */
const trainingPolicies = ({ policies }: SwarmContext): readonly string[] =>
  policies.filter((each) => !isComplete(each) && !isDown(each)).map(({ policy }) => policy);
