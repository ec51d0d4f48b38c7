import { countOf, formatSeconds } from '@agentjet/core';
import { toOneLine } from '@agentjet/core/text';
import {
  countPlaces,
  defaultShare,
  hasShares,
  isAgreement,
  missingGroups,
  nextBatch,
  type GroupsByShare,
  type LedgerGroup,
} from '@agentjet/ledger';
import type { ServerAnswer } from '@agentjet/swarm-wire';
import { changesOf } from './config-changes.js';
import { evaluationGroups } from './evaluate.js';
import { isRunDone } from './run-done.js';
import { rulesOf } from './rules-of.js';
import { isEmpty, isEnding, lookAt, ownSharesToDraw, shareNames } from './share-watch.js';
import { flyingOf, hasPolicies, isComplete, roomOfStep, type SwarmContext } from './swarm-context.js';

/** This file says in words what the next step of a policy waits for. */

type WaitAnswer = NonNullable<ServerAnswer['waits_for']>;
type Wait = { readonly reason: WaitAnswer['reason']; readonly text: string };

/** Returns what the policy waits for, and how many seconds it has waited for this. */
export function describeWait(context: SwarmContext): WaitAnswer {
  const step = context.line.step + 1;
  const { reason, text } = findWait(context, `Step ${step}`);
  const since = context.progress.secondsOf(`${reason} ${step}`);
  return { reason, text, since_seconds: Math.round(since * 10) / 10 };
}

/** Returns the number of filled places of the next batch, and of all its places. */
export function describePlaces(context: SwarmContext): NonNullable<ServerAnswer['places']> {
  const { ledger, settings } = context;
  const { flight } = flyingOf(context);
  let filled = 0;
  for (const group of flight.groups.values()) filled += countPlaces(ledger.state, group, ledger.rules).filled;
  const total = rulesOf(context).batchSize * (changesOf(context).rollout.num_repeat ?? settings.numPlaces);
  return { filled: Math.min(filled, total), total };
}

function findWait(context: SwarmContext, step: string): Wait {
  return findOrder(context, step) ?? findWork(context, step) ?? findBatchWait(context, step);
}

/** Returns why the policy cannot make steps: a failure, a full disk, an operator's order, or the end of the run. */
function findOrder(context: SwarmContext, step: string): Wait | undefined {
  const { health, weights, ledger, line } = context;
  const { isStopped, isPaused, isDraining } = ledger.state.operation;
  if (health.problem !== undefined) return { reason: 'failed', text: `Training has stopped: ${health.problem}` };
  if (health.disk !== undefined) return { reason: 'disk', text: `${step} waits for room: ${health.disk}` };
  if (!context.store.hasRoomFor(roomOfStep))
    return { reason: 'disk', text: `${step} waits for room on the disk of the ledger. Free disk space.` };
  if (weights.phase === 'failed' || weights.phase === 'recovering')
    return {
      reason: 'recovering',
      text: 'The model is being opened. Steps since the newest checkpoint are made again.',
    };
  if (isStopped) return { reason: 'stopped', text: 'The run is stopped. "ajet swarm start" continues it.' };
  if (isPaused) return { reason: 'paused', text: `${step} waits for the end of the pause: "ajet swarm resume".` };
  if (isRunDone(context))
    return {
      reason: 'complete',
      text: isComplete(context) ? `All ${line.step} steps are made.` : 'All tasks are trained.',
    };
  if (isComplete(context) && weights.phase === 'waiting' && hasPolicies(context))
    return { reason: 'complete', text: `All ${line.step} steps of this policy are made.` };
  if (isDraining && isEmpty(flyingOf(context)))
    return { reason: 'drained', text: 'The run is drained. "ajet swarm start" draws tasks again.' };
  return undefined;
}

/** Returns the work of the server that the step waits for: a checkpoint, an update or an evaluation. */
function findWork(context: SwarmContext, step: string): Wait | undefined {
  const { weights, line, evaluation, policies } = context;
  if (weights.phase === 'saving')
    return { reason: 'saving', text: `The checkpoint of step ${weights.version} is being saved.` };
  if (weights.phase === 'updating') {
    const groups = line.manifests.get(line.step)?.groups.length;
    const made = weights.version === line.step ? undefined : groups;
    return {
      reason: 'updating',
      text:
        made === undefined
          ? `${step} is being made.`
          : `Step ${line.step} is being made from ${countOf(made, 'group')}.`,
    };
  }
  if (!evaluation.isRunning) return undefined;
  const [lead = context] = policies;
  return {
    reason: 'evaluation',
    text: `${step} waits for the evaluation after step ${lead.line.step}: ${placesOf(context, evaluationGroups(lead))}; ${episodesOf(context)}.`,
  };
}

function placesOf({ ledger }: SwarmContext, groups: readonly LedgerGroup[]): string {
  const total = groups.reduce((sum, { places }) => sum + places.length, 0);
  const closed = groups.reduce((sum, group) => {
    const { filled, given_up } = countPlaces(ledger.state, group, ledger.rules);
    return sum + filled + given_up;
  }, 0);
  return `${closed} of ${total} episodes have ended`;
}

/** Returns why the groups of the step are not complete or not taken. */
function findBatchWait(context: SwarmContext, step: string): Wait {
  const flying = flyingOf(context);
  const rules = rulesOf(context);
  const look = lookAt(context);
  const batch = nextBatch(flying, rules, look);
  if (batch.kind === 'ready') return { reason: 'updating', text: `${step} begins in a moment.` };
  if (batch.kind === 'held')
    return {
      reason: 'held',
      text: `${step} has its groups, and waits for ${countOf(batch.by.length, 'group')} whose tokens it would make too old (trainer_common.max_staleness); ${episodesOf(context)}.`,
    };
  const missing = toWanted(context, missingGroups(flying, rules));
  const wanted = `${step} waits for ${missing}`;
  const blocked = findBlock(context, wanted);
  if (blocked !== undefined) return blocked;
  if (
    isAgreement(rules) &&
    flying.flight.trainable.size === flying.flight.groups.size &&
    context.ledger.numRunning === 0
  )
    return {
      reason: 'clients_ask',
      text: `${step} waits until the clients ask for it (swarm.sample_collection); ${countOf(flying.flight.trainable.size, 'group')} are ready.`,
    };
  return { reason: 'groups', text: `${wanted}; ${episodesOf(context)}.` };
}

/** Returns why no episode of the missing groups can run or end. */
function findBlock(context: SwarmContext, wanted: string): Wait | undefined {
  const { ledger, store, tasks, lives } = context;
  if (!store.hasRoom())
    return {
      reason: 'disk',
      text: `${wanted}, and the disk of the ledger is nearly full: the server accepts ends while they fit, but gives out no episodes and answers no calls. Free disk space.`,
    };
  if (ledger.numRunning > 0) return undefined;
  const { unscored: waiting } = hasPolicies(context) ? ledger.accountOf(context.policy) : ledger.account;
  if (waiting > 0)
    return {
      reason: 'rewards',
      text: `${wanted}; ${countOf(waiting, 'episode')} ${waiting === 1 ? 'waits' : 'wait'} for a reward from a scorer.`,
    };
  const empty = shareNames(context).filter((share) => tasks.isComplete?.(share) === false);
  if (empty.length > 0)
    return { reason: 'tasks', text: `${wanted}, and no client has sent ${tasksOf(context, empty)} yet.` };
  if (lives.present().length === 0) return { reason: 'clients', text: `${wanted}, and no client is connected.` };
  return undefined;
}

const tasksOf = (context: SwarmContext, shares: readonly string[]): string =>
  hasShares(context.ledger.state, rulesOf(context))
    ? `all tasks of the share ${shares.map((share) => JSON.stringify(share)).join(', ')}`
    : 'all tasks';

/** Describes the missing groups by share. At the end of a run, only the groups that are being sampled are missing. */
function toWanted(context: SwarmContext, missing: GroupsByShare): string {
  const { groups, trainable } = flyingOf(context).flight;
  const sampled = groups.size - trainable.size;
  if (isEnding(context) && ownSharesToDraw(context).length === 0 && sampled > 0)
    return `the last ${countOf(sampled, 'group')}`;
  const parts = Object.entries(missing).map(([share, number]) =>
    share === defaultShare ? countOf(number, 'more group') : `${countOf(number, 'more group')} of the share "${share}"`,
  );
  return parts.length === 0 ? 'more groups' : parts.join(' and ');
}

/** Returns a phrase such as "5 episodes are open, the oldest for 40 s, of client X". */
function episodesOf({ ledger, lengths, lives }: SwarmContext): string {
  const { numRunning } = ledger;
  const { value: oldest } = ledger.running().next();
  if (numRunning === 0 || oldest === undefined)
    return `no episode is open, and ${countOf(lives.present().length, 'client')} ${lives.present().length === 1 ? 'is' : 'are'} connected`;
  const age = formatSeconds(Math.floor(lengths.secondsOf(oldest.episodeId)));
  const name = JSON.stringify(toOneLine(oldest.client));
  return numRunning === 1
    ? `1 episode is open, for ${age}, of client ${name}`
    : `${numRunning} episodes are open, the oldest for ${age}, of client ${name}`;
}
