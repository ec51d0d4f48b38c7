import {
  defaultShare,
  isClosed,
  lastAttemptsOf,
  named,
  shareOf,
  type EvaluationRecord,
  type LedgerEpisode,
  type LedgerGroup,
} from '@agentjet/ledger';
import { changesOf } from './config-changes.js';
import { isThrough, shareNames } from './share-watch.js';
import { appendSynced, hasPolicies, isDown, requireEngine, type SwarmContext } from './swarm-context.js';

/**
 * Evaluates after a step if an evaluation is due. Its places are offered to clients before all others, and its calls
 * are answered by the weights of this step. The next step waits for the evaluation, up to a limit. The record states
 * the number of tasks. With several policies, the steps of the first one decide when an evaluation is due, and no
 * policy makes a step meanwhile.
 */
export async function evaluateIfDue(context: SwarmContext): Promise<void> {
  const { step } = context.line;
  if (context !== context.policies[0] || !isEvaluationPending(context)) return;
  if (groupsOf(context, step).length === 0 && !hasTasks(context)) return; // no tasks have arrived
  context.evaluation.isRunning = true;
  try {
    await othersMade(context);
    await evaluate(context, step);
  } finally {
    context.evaluation.isRunning = false;
    context.changes.notify();
  }
}

/** Resolves when no other policy is making a step. */
async function othersMade({ policies, changes, settings }: SwarmContext): Promise<void> {
  const isBusy = ({ weights }: SwarmContext): boolean => weights.phase === 'updating' || weights.phase === 'recovering';
  while (policies.slice(1).some((each) => isBusy(each) && !isDown(each))) await changes.next(settings.tickMs);
}

/** Whether a client has the code for at least one task. */
function hasTasks(context: SwarmContext): boolean {
  const { tasks, revisions } = context;
  return shareNames(context).some(
    (share) => revisions.newestOf(share) !== undefined && tasks.evaluationTask(0, share) !== undefined,
  );
}

async function evaluate(context: SwarmContext, step: number): Promise<void> {
  const { ledger, host, changes, intake, evaluation } = context;
  const { state } = ledger;
  openGroups(context, step);
  if (groupsOf(context, step).length === 0) return; // `numEvaluationTasks` is 0
  changes.notify();
  evaluation.sinceMs = ledger.clock.read();
  evaluation.beganMs ??= host.now(); // `beganMs` is undefined if an earlier process opened the groups
  let numTasks = state.tasks.size;
  while (!isOver(context, step) && mayWait(context)) {
    requireEngine(context);
    if (intake.isClosing) return; // the next process waits for the evaluation
    await changes.next(context.settings.tickMs);
    if (state.tasks.size !== numTasks) openGroups(context, step); // the table of another share may have arrived
    numTasks = state.tasks.size;
  }
  const seconds = (host.now() - evaluation.beganMs) / 1000;
  evaluation.beganMs = undefined;
  await conclude(context, step, seconds);
}

const mayWait = ({ ledger, evaluation, settings }: SwarmContext): boolean =>
  ledger.clock.read() - evaluation.sinceMs < settings.evaluationPatienceMs;

async function conclude(context: SwarmContext, step: number, seconds: number): Promise<void> {
  const { ledger, writer } = context;
  const groups = groupsOf(context, step);
  if (!isOver(context, step)) noticeUnfilled(context, step, groups);
  const restsOn = groups.filter((group) => lastAttemptsOf(ledger.state, group).some(isScored)).length;
  const mixed = findMixed(context, groups);
  if (mixed !== undefined) noticeMixed(context, step, mixed);
  const groupIds = groups.map(({ groupId }) => groupId);
  const more = { restsOn, seconds, ...(mixed !== undefined && { isUsed: false as const }) };
  const record: EvaluationRecord = { kind: 'evaluation', step, ...named(context.policy), groupIds, ...more };
  await writer.committed(); // the trainer reads ends from the store
  await recordEvaluation(context, record);
  await appendSynced(context, record);
}

function noticeUnfilled(
  { ledger, settings, notice }: SwarmContext,
  step: number,
  groups: readonly LedgerGroup[],
): void {
  const numPlaces = groups.reduce((sum, { places }) => sum + places.length, 0);
  const numFilled = groups.reduce((sum, group) => sum + lastAttemptsOf(ledger.state, group).filter(isScored).length, 0);
  const seconds = settings.evaluationPatienceMs / 1000;
  notice(
    `The evaluation after step ${step} has waited for ${seconds} s (trainer_common.evaluation_patience) and continues without ${numPlaces - numFilled} of ${numPlaces} places, which no client has filled.`,
    'warn',
  );
}

/**
 * Returns the revisions of the code that gave a share's rewards, if there is more than one. Such an evaluation cannot
 * be compared with others.
 */
function findMixed({ ledger }: SwarmContext, groups: readonly LedgerGroup[]): readonly string[] | undefined {
  const byShare = new Map<string, Set<string>>();
  for (const group of groups) {
    const revisions = byShare.get(shareOf(group)) ?? new Set();
    byShare.set(shareOf(group), revisions);
    for (const { reward, rewardRevision } of lastAttemptsOf(ledger.state, group))
      if (reward !== null) revisions.add(rewardRevision ?? group.revision);
  }
  const mixed = [...byShare.values()].find(({ size }) => size > 1);
  return mixed === undefined ? undefined : [...mixed].sort();
}

function noticeMixed({ notice }: SwarmContext, step: number, revisions: readonly string[]): void {
  const count = revisions.length === 2 ? 'two' : String(revisions.length);
  const names = revisions.map((revision) => JSON.stringify(revision)).join(', ');
  notice(
    `The evaluation after step ${step} is not used: its rewards are of ${count} revisions, ${names}. The next evaluation measures the newest one.`,
    'warn',
  );
}

/**
 * Called when the newest revision of these shares has changed. The open evaluation then measures only that revision, so
 * groups of other revisions are dropped with their ended episodes.
 */
export function takeOverEvaluation(context: SwarmContext, shares: readonly string[]): void {
  const { ledger, revisions, evaluation, line } = context;
  const open = groupsOf(context, line.step).filter((group) => shares.includes(shareOf(group)));
  for (const group of open)
    if (group.revision !== revisions.newestOf(shareOf(group))) ledger.dropGroup(group.groupId, 'superseded');
  evaluation.sinceMs = ledger.clock.read();
  openEvaluation(context);
}

/** Whether the attempt says something about the model: it has a reward, or its agent failed. */
const isScored = ({ end, reward }: Readonly<LedgerEpisode>): boolean =>
  reward !== null || (end?.status === 'failed' && !end.isSuspect);

/** Records the results of an evaluation. Curves and checkpoints ignore an evaluation with `isUsed: false`. */
export async function recordEvaluation(
  { ledger, trainer }: SwarmContext,
  { step, groupIds, isUsed, seconds = 0 }: EvaluationRecord,
): Promise<void> {
  if (isUsed === false) return;
  const groups = groupIds.flatMap((groupId) => ledger.state.groups.get(groupId) ?? []);
  await trainer.recordEvaluation?.(step, {
    seconds,
    groups: groups.map((group) => {
      const { groupId, taskId, places } = group;
      return { groupId, taskId, numPlaces: places.length, attempts: lastAttemptsOf(ledger.state, group) };
    }),
  });
}

/** Whether an evaluation of the newest step is due and has not ended. */
export function isEvaluationPending(context: SwarmContext): boolean {
  const { step, evaluations } = context.line;
  return !evaluations.has(step) && isDue(context, step);
}

/** Opens the groups of an evaluation as soon as a client has the code for their tasks. */
function openEvaluation(context: SwarmContext): void {
  const { step } = context.line;
  if (context.weights.version === step && isEvaluationPending(context)) openGroups(context, step);
}

/**
 * Unless evaluation is off, an evaluation is due before the first step, every `test_freq` steps, and after the last
 * step, as in an ordinary run.
 */
function isDue(context: SwarmContext, step: number): boolean {
  const { settings, tasks } = context;
  const { test_freq: testFreq = settings.testFreq } = changesOf(context).trainer_common;
  const isFirst = settings.evaluatesFirst === true;
  if ((!isFirst && testFreq === 0) || settings.numEvaluationTasks === 0) return false;
  if (!shareNames(context).some((share) => tasks.evaluationTask(0, share) !== undefined)) return false;
  if (step === 0) return isFirst;
  return (testFreq > 0 && step % testFreq === 0) || step >= settings.maxSteps || isThrough(context);
}

function openGroups(context: SwarmContext, step: number): void {
  for (const share of shareNames(context)) openGroupsOf(context, step, share);
}

/**
 * Opens the groups of one share. A group is for one revision of the code, so no group is opened before a client of the
 * share has sent a request.
 */
function openGroupsOf(context: SwarmContext, step: number, share: string): void {
  const { ledger, settings, tasks, revisions, policies } = context;
  const revision = revisions.newestOf(share);
  if (revision === undefined) return;
  const open = groupsOf(context, step).filter((group) => shareOf(group) === share);
  const known = new Set(open.map(({ draw }) => draw));
  const version = open[0] && (open[0].table ?? 0); // an evaluation keeps the version of its first group
  for (let index = 0; index < settings.numEvaluationTasks; index++) {
    const task = tasks.evaluationTask(index, share, version);
    if (task === undefined) return;
    if (known.has(index)) continue;
    context.evaluation.beganMs ??= context.host.now();
    ledger.openGroup({
      ...newGroup(context, share === defaultShare ? `v${step}.${index}` : `v-${share}-${step}.${index}`),
      taskId: task.taskId,
      ...(task.table !== undefined && { table: task.table }),
      draw: index,
      numPlaces: settings.evaluationPlaces,
      purpose: 'evaluation',
      ...(share !== defaultShare && { share }),
      ...(hasPolicies(context) && { policies: policies.map(({ policy }) => policy) }),
      evaluates: step,
      revision,
    });
  }
}

/**
 * Returns a new group id for a task. An earlier group of the same task may have been dropped because its code was
 * replaced.
 */
function newGroup({ ledger }: SwarmContext, name: string): { readonly groupId: string; readonly tryIndex: number } {
  const { groups, finished } = ledger.state;
  for (let tryIndex = 0; ; tryIndex++) {
    const groupId = tryIndex === 0 ? name : `${name}~${tryIndex}`;
    if (!groups.has(groupId) && !finished.has(groupId)) return { groupId, tryIndex };
  }
}

/** Returns the groups of the evaluation of the newest step. */
export const evaluationGroups = (context: SwarmContext): readonly LedgerGroup[] => groupsOf(context, context.line.step);

const groupsOf = ({ ledger }: SwarmContext, step: number): readonly LedgerGroup[] =>
  [...ledger.state.groups.values()].filter((group) => group.evaluates === step && group.fate === undefined);

function isOver(context: SwarmContext, step: number): boolean {
  const { ledger, settings } = context;
  return groupsOf(context, step).every((group) => isClosed(ledger.state, group, settings.rules));
}
