import { fateOf, fateWords, type TaskFate } from '../../src/page-logic/sum-up.js';
import { showCount } from '../../src/page-logic/format.js';
import type { KindChange, Outcomes, TaskChange, TaskTrials } from '../../src/wire.js';
import { Empty, Link, Panel, Segments, Words } from '../parts/basics.js';
import { RateBar } from '../parts/rate-bar.js';
import { number, WideTable } from '../parts/table.js';
import { answerOf, route, setQuery } from '../state/store.js';

const order: readonly TaskFate[] = ['never', 'lost', 'learned', 'partly', 'always', 'once'];
const maxShown = 50;

/** Compares the tasks before and after training: which fail, what was expected, and what was answered. */
export function TaskChanges({ run, tasks }: { readonly run: string; readonly tasks: readonly TaskChange[] }) {
  const byFate = new Map<TaskFate, TaskChange[]>();
  for (const task of tasks) byFate.set(fateOf(task), [...(byFate.get(fateOf(task)) ?? []), task]);
  const present = order.filter((fate) => byFate.has(fate));
  const wanted = present.find((fate) => fate === route.value.query['tasks']) ?? present[0] ?? 'never';
  const shown = (byFate.get(wanted) ?? []).slice(0, maxShown);
  return (
    <Panel title="On which tasks" note={`${showCount(tasks.length, 'task')}, first and last evaluation`}>
      <FateBar byFate={byFate} total={tasks.length} />
      <Segments
        label="Tasks to show"
        value={wanted}
        options={present.map((fate) => [fate, `${fateWords[fate]} ${byFate.get(fate)?.length ?? 0}`] as const)}
        onChange={(fate) => setQuery({ tasks: fate })}
      />
      {shown.length === 0 ? <Empty>There is none.</Empty> : <TaskTable run={run} tasks={shown} />}
      {(byFate.get(wanted)?.length ?? 0) > maxShown && (
        <p class="muted">
          The first {maxShown} are shown. The{' '}
          <Link to={{ view: 'episodes', run, query: { phase: 'evaluation', result: 'failure' } }}>
            table of episodes
          </Link>{' '}
          has all.
        </p>
      )}
    </Panel>
  );
}

function FateBar({
  byFate,
  total,
}: {
  readonly byFate: ReadonlyMap<TaskFate, readonly TaskChange[]>;
  readonly total: number;
}) {
  return (
    <div class="fates" aria-hidden="true">
      {(['always', 'learned', 'partly', 'once', 'lost', 'never'] as const).map((fate) => {
        const count = byFate.get(fate)?.length ?? 0;
        return count === 0 ? null : <i key={fate} class={fate} style={{ flexGrow: count / total }} />;
      })}
    </div>
  );
}

function TaskTable({ run, tasks }: { readonly run: string; readonly tasks: readonly TaskChange[] }) {
  const refs = tasks.map(({ before, after }) => (after ?? before)?.ref ?? '').filter((ref) => ref !== '');
  const outcomes = answerOf<Outcomes>(`runs/${run}/outcomes?refs=${refs.join(',')}`).value.value ?? {};
  return (
    <WideTable
      label="Tasks"
      look="tasks"
      columns={['Task', 'Question', 'Expected', 'Answered', number('Before'), number('After')]}
    >
      {tasks.map(({ task, kind, before, after }) => {
        const { question, expected, answered, error } = outcomes[(after ?? before)?.ref ?? ''] ?? {};
        return (
          <tr key={task}>
            <th scope="row">
              <Link to={{ view: 'task', run, item: task }}>{task}</Link>
              {kind !== '' && <div class="muted">{kind}</div>}
            </th>
            <td class="long">
              <Words text={question ?? '–'} class="clip" />
            </td>
            <td class="long">
              <Words text={expected ?? '–'} class="clip" />
            </td>
            <td class="long">
              <Words text={answered ?? error ?? '–'} class="clip" />
            </td>
            <td class="num">{sayTrials(before)}</td>
            <td class="num">{sayTrials(after)}</td>
          </tr>
        );
      })}
    </WideTable>
  );
}

function sayTrials(trials: TaskTrials | null): string {
  if (trials === null || trials.trials === 0) return '–';
  if (trials.trials === 1) return trials.successes === 1 ? '✓' : '✕';
  return `${trials.successes}/${trials.trials}`;
}

/** Success by kind of task, with intervals. */
export function Kinds({ kinds }: { readonly kinds: readonly KindChange[] }) {
  return (
    <Panel title="By kind of task" note="success with 95% intervals, first and last evaluation">
      <WideTable label="Kinds of tasks" look="kinds" columns={['Kind', number('Tasks'), 'Before', 'After']}>
        {kinds.map(({ kind, tasks, before, after }) => (
          <tr key={kind}>
            <th scope="row">
              <Words text={kind} />
            </th>
            <td class="num">{tasks}</td>
            <td>
              <RateBar rate={before} />
            </td>
            <td>
              <RateBar rate={after} />
            </td>
          </tr>
        ))}
      </WideTable>
    </Panel>
  );
}
