import { makeVisible } from '@agentjet/core/text';
import { formatChange, formatRate } from '@agentjet/core/success';
import type { ComparedEvaluations, ComparedTask } from '../outcomes/compare-evaluations.js';
import type { OutcomeReader } from '../outcomes/read-outcomes.js';
import { formatField, type OutcomeLayout } from './format-outcomes.js';

const titles = {
  gained: 'gained: solved more often than before',
  lost: 'lost: solved less often than before',
  not_solved: 'not solved more often than before',
} as const;

/** Formats a comparison for people: the change, then the tasks that were gained, lost and not solved, with their answers. */
export async function* formatComparison(
  found: ComparedEvaluations,
  reader: OutcomeReader,
  layout: OutcomeLayout,
): AsyncGenerator<string> {
  yield* formatSummary(found);
  for (const change of ['gained', 'lost', 'not_solved'] as const) {
    const tasks = found.tasks.filter((task) => task.change === change);
    if (tasks.length === 0) continue;
    yield '';
    yield layout.palette.tone('title', `${titles[change]} (${tasks.length})`);
    for (const task of tasks) yield* formatTask(task, reader, layout);
  }
}

function formatSummary({ firstStep, lastStep, before, after, difference, tasks, leftOut }: ComparedEvaluations) {
  const counts = (['gained', 'lost', 'not_solved', 'solved'] as const).map((change) => {
    const count = tasks.filter((task) => task.change === change).length;
    return `${count} ${change === 'not_solved' ? 'not solved' : change === 'solved' ? 'solved in both' : change}`;
  });
  return [
    `step ${firstStep}: success ${formatRate(before.rate, before)}`,
    `step ${lastStep}: success ${formatRate(after.rate, after)}`,
    `change: ${formatChange(difference)}, on ${tasks.length} tasks: ${counts.join(', ')}`,
    ...(leftOut === 0 ? [] : [sayLeftOut(leftOut)]),
  ];
}

const sayLeftOut = (count: number): string =>
  count === 1
    ? '1 task is left out, because only one of the evaluations has scored it.'
    : `${count} tasks are left out, because only one of the evaluations has scored them.`;

async function* formatTask(
  { taskId, kind, before, after }: ComparedTask,
  reader: OutcomeReader,
  layout: OutcomeLayout,
): AsyncGenerator<string> {
  const { outcome: earlier } = await reader.read(before.episode);
  const { outcome: later } = await reader.read(after.episode);
  const rates = [before, after].map(({ successes, trials }) => `${successes}/${trials}`).join(' -> ');
  yield `${makeVisible(taskId)}  ${rates}${kind === undefined ? '' : `  kind ${makeVisible(kind)}`}`;
  const fields = [
    ['question', later.question ?? earlier.question],
    ['expected', later.expected ?? earlier.expected],
    ['before', earlier.answered ?? earlier.error],
    ['after', later.answered ?? later.error],
    ['reason', later.reason],
  ] as const;
  for (const [label, text] of fields) if (text !== undefined) yield* formatField(label, text, layout);
}
