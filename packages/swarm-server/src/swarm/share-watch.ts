import {
  defaultShare,
  drawableShares,
  hasShares,
  isAgreement,
  nextParts,
  partsAt,
  scheduleOf,
  type Flying,
  type LedgerState,
  type Look,
} from '@agentjet/ledger';
import { WireError } from '@agentjet/swarm-wire';
import { flyingOf, isComplete, isDown, type SwarmContext } from './swarm-context.js';
import { rulesOf } from './rules-of.js';

/**
 * This file finds the facts about shares that are not in the ledger: which shares have tasks and clients now, and
 * whether the clients ask for a step.
 */

type OfPolicy = Pick<SwarmContext, 'ledger' | 'policy' | 'settings' | 'tasks'>;

export const shareNames = (context: OfPolicy): readonly string[] =>
  Object.keys(nextParts(flyingOf(context), context.settings.rules));

/** Whether each task of the share was drawn as often as configured. */
function isExhausted({ ledger, tasks }: Pick<SwarmContext, 'ledger' | 'tasks'>, share: string): boolean {
  if (tasks.isComplete?.(share) === false) return false;
  return tasks.trainingTask(scheduleOf(ledger.state, share).nextDraw, share) === undefined;
}

/**
 * Whether no new task will be drawn, because the run drains or its tasks are used up. If every batch needs all shares,
 * the run ends when one share has no tasks left. If shares may lend their places, the other shares continue.
 */
export function isEnding(context: OfPolicy): boolean {
  const { state } = context.ledger;
  if (state.operation.isDraining) return true;
  const names = shareNames(context);
  const isOut = (share: string): boolean => isExhausted(context, share);
  return rulesOf(context).isElastic === true ? names.every(isOut) : names.some(isOut);
}

/** Whether every task was drawn, and every draw is trained or dropped. */
export function isThrough(context: SwarmContext): boolean {
  if (context.ledger.state.operation.isDraining || !isEnding(context)) return false;
  return isEmpty(flyingOf(context)) && ownSharesToDraw(context).length === 0;
}

/** Whether no group waits for a step. */
export const isEmpty = ({ flight }: Flying): boolean => flight.groups.size === 0 && flight.idle.size === 0;

/**
 * Returns the shares from which another group may be drawn now. The share that lacks the most groups comes first. A
 * group is for all policies that train now. If one policy has enough groups, the others wait, because the tokens of an
 * extra group would become too old for that policy. A policy gets an extra group only if the policies lack groups of
 * different shares and no group is being sampled that could change this.
 */
export function sharesToDraw(context: SwarmContext): readonly string[] {
  const training = context.policies.filter((each) => !isComplete(each) && !isDown(each));
  const lacking = training.map(ownSharesToDraw);
  const [first = [], ...others] = lacking;
  const common = first.filter((share) => others.every((each) => each.includes(share)));
  const isStuck = common.length === 0 && training.every(isWaiting);
  return isStuck ? [...new Set(lacking.flat())] : common;
}

/** Whether all groups of the policy are sampled and still too few for a step. */
function isWaiting(context: SwarmContext): boolean {
  const { groups, trainable } = flyingOf(context).flight;
  return trainable.size === groups.size && ownSharesToDraw(context).length > 0;
}

/**
 * Returns the shares of which a policy lacks groups. At the end of the run, only tasks that have to be drawn again are
 * left.
 */
export function ownSharesToDraw(context: SwarmContext): readonly string[] {
  const { ledger } = context;
  const { state } = ledger;
  const rules = rulesOf(context);
  const flying = flyingOf(context);
  if (!isEnding(context)) return drawableShares(flying, rules, lookAt(context));
  const isFull = rules.order !== 'drawn' && flying.flight.groups.size >= rules.batchSize;
  return isFull ? [] : shareNames(context).filter((share) => scheduleOf(state, share).returned.size > 0);
}

/**
 * Returns the shares whose clients are gone. A share without further tasks may still have clients that run its last
 * tasks.
 */
function desertedShares(context: OfPolicy & Pick<SwarmContext, 'lives'>): ReadonlySet<string> {
  const patienceMs = context.settings.sharePatienceMs ?? Infinity;
  return new Set(shareNames(context).filter((share) => !context.lives.mayServe(share, patienceMs)));
}

/** Returns the facts that batches and draws need in addition to the ledger. */
export function lookAt(context: SwarmContext): Look {
  const { ledger, lives, settings, weights } = context;
  const rules = rulesOf(context);
  const isShared = rules.isElastic === true && hasShares(ledger.state, rules);
  const deserted = isShared ? desertedShares(context) : new Set<string>();
  const idle = shareNames(context).filter((share) => isShared && (isExhausted(context, share) || deserted.has(share)));
  return {
    doneStep: weights.doneStep,
    lastStep: settings.maxSteps,
    idle: new Set(idle),
    isAgreed: isAgreement(rules) && lives.agree(rules.collection === 'all_clients_ask', context.weights.version),
  };
}

/** Whether a client of these shares may get a task later. */
export const mayEverDraw = (context: SwarmContext, can: readonly string[]): boolean =>
  shareNames(context).some((share) => {
    const { returned, nextDraw } = scheduleOf(context.ledger.state, share);
    if (!can.includes(share)) return false;
    return isEnding(context) ? returned.size > 0 : context.tasks.trainingTask(nextDraw, share) !== undefined;
  });

/** Returns every share that the run has or will have. */
function knownShares(context: OfPolicy): ReadonlySet<string> {
  const { ledger, settings } = context;
  const later = partsAt(ledger.state, settings.rules.parts, Infinity);
  return new Set([...shareNames(context), ...Object.keys(later)]);
}

/** Throws WireError `unknown_share` if the run does not have one of the shares. */
export function requireShares(context: OfPolicy, shares: readonly string[]): void {
  const known = knownShares(context);
  const unknown = shares.find((share) => !known.has(share));
  if (unknown === undefined) return;
  const names = [...known].map((share) => `"${share}"`).join(', ');
  throw new WireError(
    'unknown_share',
    unknown === defaultShare
      ? `This run has the shares ${names}. Say which of them this client runs.`
      : `There is no share "${unknown}" here; there is ${names}. Correct the name, or add the share with PUT /shares.`,
  );
}

/**
 * Gives up places that no client can fill because their share has no clients, so that their groups do not block others.
 */
export function giveUpDeserted(context: SwarmContext): void {
  const { ledger } = context;
  const rules = rulesOf(context);
  if (rules.isElastic !== true || !hasShares(ledger.state, rules)) return;
  for (const group of openGroupsOf(ledger.state, desertedShares(context))) {
    const places = group.places.flatMap(({ episodeId, isGivenUp }, index) =>
      episodeId === undefined && !isGivenUp ? [index] : [],
    );
    if (places.length > 0) ledger.append({ kind: 'give_up', groupId: group.groupId, places, reason: 'group_expired' });
  }
}

const openGroupsOf = ({ groups }: LedgerState, shares: ReadonlySet<string>) =>
  [...groups.values()].filter(
    ({ fate, purpose, share = defaultShare }) => fate === undefined && purpose === 'train' && shares.has(share),
  );
