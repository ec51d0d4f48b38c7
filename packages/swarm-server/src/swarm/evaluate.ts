import {
  defaultShare,
  isClosed,
  named,
  type EvaluationRecord,
  type LedgerEpisode,
  type LedgerGroup,
} from '@agentjet/ledger';
import { changesOf } from './config-changes.js';
import { isThrough, shareNames } from './share-watch.js';
import { appendSynced, hasPolicies, isDown, requireEngine, type SwarmContext } from './swarm-context.js';

/**
 * The evaluation of a step, if one is due: its places are offered before all others, at the version of the step, and the
 * next step waits for them, but not for ever. The record says on how many tasks the result rests. With several policies the steps
 * of the first one say when it is due, and no policy makes a step meanwhile.
 */
export async function evaluateIfDue(context: SwarmContext): Promise<void> {
  const { step } = context.line;
  if (context !== context.policies[0] || !isEvaluationPending(context)) return;
  if (groupsOf(context, step).length === 0 && !hasTasks(context)) return; // there are none, or not yet
  context.evaluation.isRunning = true;
  try {
    await othersMade(context);
    await evaluate(context, step);
  } finally {
    context.evaluation.isRunning = false;
    context.changes.notify();
  }
}

/** Resolves when no other policy makes a step. */
async function othersMade({ policies, changes, settings }: SwarmContext): Promise<void> {
  const isBusy = ({ weights }: SwarmContext): boolean => weights.phase === 'updating' || weights.phase === 'recovering';
  while (policies.slice(1).some((each) => isBusy(each) && !isDown(each))) await changes.next(settings.tickMs);
}

/** Whether there is a task whose code a client has come with. */
function hasTasks(context: SwarmContext): boolean {
  const { tasks, newest } = context;
  return shareNames(context).some((share) => newest.has(share) && tasks.evaluationTask(0, share) !== undefined);
}

async function evaluate(context: SwarmContext, step: number): Promise<void> {
  const { host, ledger, settings, changes, intake, writer } = context;
  const { state } = ledger;
  openGroups(context, step);
  if (groupsOf(context, step).length === 0) return; // `numEvaluationTasks` is 0
  changes.notify();
  const startedMs = ledger.clock.read();
  const beganMs = host.now();
  let numTasks = state.tasks.size;
  const mayWait = (): boolean => ledger.clock.read() - startedMs < settings.evaluationPatienceMs;
  while (!isOver(context, step) && mayWait()) {
    requireEngine(context);
    if (intake.isClosing) return; // the next process waits for it
    await changes.next(settings.tickMs);
    if (state.tasks.size > numTasks) openGroups(context, step); // the table of another share may have come
    numTasks = state.tasks.size;
  }
  const groups = groupsOf(context, step);
  const restsOn = groups.filter(({ groupId }) => ledger.lastAttemptsOf(groupId).some(isScored)).length;
  const groupIds = groups.map(({ groupId }) => groupId);
  const seconds = (host.now() - beganMs) / 1000;
  await writer.committed(); // the trainer reads ends from the store
  await recordEvaluation(context, { step, groupIds, seconds });
  await appendSynced(context, { kind: 'evaluation', step, ...named(context.policy), groupIds, restsOn, seconds });
}

/** Whether the attempt says something of the model: it has a reward, or its agent failed. */
const isScored = ({ end, reward }: Readonly<LedgerEpisode>): boolean =>
  reward !== null || (end?.status === 'failed' && !end.isSuspect);

/** Writes down what the episodes of an evaluation got. */
export async function recordEvaluation(
  { ledger, trainer }: SwarmContext,
  { step, groupIds, seconds = 0 }: Pick<EvaluationRecord, 'step' | 'groupIds' | 'seconds'>,
): Promise<void> {
  const groups = groupIds.flatMap((groupId) => ledger.state.groups.get(groupId) ?? []);
  await trainer.recordEvaluation?.(step, {
    seconds,
    groups: groups.map(({ groupId, taskId, places }) => {
      return { groupId, taskId, numPlaces: places.length, attempts: ledger.lastAttemptsOf(groupId) };
    }),
  });
}

/** Whether the evaluation of the newest step is due and not over. */
export function isEvaluationPending(context: SwarmContext): boolean {
  const { step, evaluations } = context.line;
  return !evaluations.has(step) && isDue(context, step);
}

/** Opens what is pending: the first client of a share has come, with the code that runs its tasks. */
export function openEvaluation(context: SwarmContext): void {
  const { step } = context.line;
  if (context.weights.version === step && isEvaluationPending(context)) openGroups(context, step);
}

/** As in an ordinary run: before the first step, every `test_freq` steps, and after the last one unless evaluation is off. */
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

/** None before a client of the share was heard of: a group is for the code of one revision. */
function openGroupsOf(context: SwarmContext, step: number, share: string): void {
  const { ledger, settings, tasks, newest, policies } = context;
  const revision = newest.get(share);
  if (revision === undefined) return;
  for (let index = 0; index < settings.numEvaluationTasks; index++) {
    const task = tasks.evaluationTask(index, share);
    const groupId = share === defaultShare ? `v${step}.${index}` : `v-${share}-${step}.${index}`;
    if (task === undefined) return;
    if (ledger.state.groups.has(groupId)) continue;
    ledger.openGroup({
      groupId,
      taskId: task.taskId,
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

const groupsOf = ({ ledger }: SwarmContext, step: number): readonly LedgerGroup[] =>
  [...ledger.state.groups.values()].filter((group) => group.evaluates === step && group.fate === undefined);

function isOver(context: SwarmContext, step: number): boolean {
  const { ledger, settings } = context;
  return groupsOf(context, step).every((group) => isClosed(ledger.state, group, settings.rules));
}
