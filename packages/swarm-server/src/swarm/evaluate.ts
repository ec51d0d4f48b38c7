import { isClosed, type LedgerGroup } from '@agentjet/ledger';
import { appendSynced, type SwarmContext } from './swarm-context.js';

/**
 * The evaluation of a step, if one is due: its places are offered before all others, at the version of the step, and the
 * next step waits for them, but not for ever. The record says on how many tasks the result rests.
 */
export async function evaluateIfDue(context: SwarmContext): Promise<void> {
  const { ledger, settings, changes } = context;
  const { state } = ledger;
  const { step } = state;
  if (settings.testFreq === 0 || step === 0 || step % settings.testFreq !== 0 || state.evaluations.has(step)) return;
  openGroups(context, step);
  changes.notify();
  const startedMs = ledger.clock.read();
  while (!isOver(context, step) && ledger.clock.read() - startedMs < settings.evaluationPatienceMs) {
    await changes.next(settings.tickMs);
  }
  const groups = groupsOf(context, step);
  const restsOn = groups.filter(({ groupId }) => ledger.membersOf(groupId).some((each) => each.state === 'pooled'));
  const groupIds = groups.map(({ groupId }) => groupId);
  await appendSynced(context, { kind: 'evaluation', step, groupIds, restsOn: restsOn.length });
}

function openGroups({ ledger, settings, tasks, newest }: SwarmContext, step: number): void {
  for (let index = 0; index < settings.numEvaluationTasks; index++) {
    const task = tasks.evaluationTask(index);
    const groupId = `v${step}.${index}`;
    if (task === undefined || ledger.state.groups.has(groupId)) continue;
    ledger.openGroup({
      groupId,
      taskId: task.taskId,
      draw: index,
      numPlaces: settings.evaluationPlaces,
      purpose: 'evaluation',
      evaluates: step,
      revision: newest.revision,
    });
  }
}

const groupsOf = ({ ledger }: SwarmContext, step: number): readonly LedgerGroup[] =>
  [...ledger.state.groups.values()].filter((group) => group.evaluates === step && group.fate === undefined);

function isOver(context: SwarmContext, step: number): boolean {
  const { ledger, settings } = context;
  return groupsOf(context, step).every((group) => isClosed(ledger.state, group, settings.rules));
}
