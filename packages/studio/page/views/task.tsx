import { showRate } from '../../src/page-logic/format.js';
import { alignMessages } from '../../src/page-logic/align-messages.js';
import type { EpisodeView, Said, TaskView } from '../../src/wire.js';
import { Choice, Link, Panel, Problem, Result, Shown, Words } from '../parts/basics.js';
import { OutcomeList } from '../parts/outcome-list.js';
import { number, WideTable } from '../parts/table.js';
import { answerOf, route, setQuery } from '../state/store.js';

/** One task in each evaluation, and two of its episodes side by side, before and after. */
export function Task() {
  const { run, item } = route.value;
  const answer = answerOf<TaskView>(`runs/${run}/task?id=${encodeURIComponent(item)}`);
  return (
    <div class="page">
      <Shown of={answer}>{(task) => <Body task={task} run={run} />}</Shown>
    </div>
  );
}

function Body({ task, run }: { readonly task: TaskView; readonly run: string }) {
  const { query } = route.value;
  const { episodes } = task;
  const left = query['left'] ?? episodes[0]?.id ?? '';
  const right = query['right'] ?? episodes.findLast(({ step }) => step === episodes.at(-1)?.step)?.id ?? '';
  const { question, expected } = episodes[0]?.outcome ?? {};
  const options = episodes.map(
    ({ id, step, repeat, reward }) =>
      [id, `step ${step}${repeat > 0 ? `, repeat ${repeat + 1}` : ''}: ${showRate(reward)}`] as const,
  );
  return (
    <>
      <div class="bar">
        <h1>
          Task <span class="mono id">{task.task}</span>
        </h1>
      </div>
      <OutcomeList
        rows={[
          ['Question', question],
          ['Expected', expected],
        ]}
      />
      <Evaluations run={run} episodes={episodes} />
      {episodes.length > 1 && (
        <>
          <div class="bar sub">
            <h2>Side by side</h2>
            <Choice label="Left" value={left} options={options} onChange={(id) => setQuery({ left: id })} />
            <Choice label="Right" value={right} options={options} onChange={(id) => setQuery({ right: id })} />
          </div>
          <SideBySide run={run} left={left} right={right} />
        </>
      )}
    </>
  );
}

function Evaluations({ run, episodes }: { readonly run: string; readonly episodes: TaskView['episodes'] }) {
  return (
    <Panel title="In each evaluation">
      <WideTable
        label="Evaluations of the task"
        columns={[number('Step'), 'Answered', 'Result', number('Reward'), 'Reason']}
      >
        {episodes.map(({ id, step, reward, isSuccess, outcome }) => (
          <tr key={id}>
            <th scope="row" class="num">
              <Link to={{ view: 'episode', run, item: id }}>{step}</Link>
            </th>
            <td class="long">
              <Words text={outcome.answered ?? outcome.error ?? '–'} class="clip" />
            </td>
            <td>
              <Result isSuccess={isSuccess} error={reward === null ? 'failed' : ''} />
            </td>
            <td class="num">{showRate(reward)}</td>
            <td class="long">
              <Words text={outcome.reason ?? '–'} class="clip" />
            </td>
          </tr>
        ))}
      </WideTable>
    </Panel>
  );
}

type Sides = { readonly run: string; readonly left: string; readonly right: string };

/** Two episodes message by message. What both begin with is faint, so that the first difference is visible. */
function SideBySide({ run, left, right }: Sides) {
  const [one, other] = [left, right].map(
    (id) => answerOf<EpisodeView>(`runs/${run}/episode?id=${encodeURIComponent(id)}`).value,
  );
  const error = one?.error ?? other?.error;
  if (one?.value === undefined || other?.value === undefined)
    return error === undefined ? <p class="loading">Loading…</p> : <Problem text={error} />;
  const { pairs, firstDifference, sharedLength } = alignMessages(one.value.said, other.value.said);
  return (
    <div class="pairs">
      {firstDifference === undefined && <p class="muted">Both say the same.</p>}
      {pairs.map((pair, at) => (
        <div key={at} class={`pair ${pair.isSame ? 'same' : ''} ${at === firstDifference ? 'first' : ''}`}>
          <Side message={pair.left} shared={at === firstDifference ? sharedLength : 0} />
          <Side message={pair.right} shared={at === firstDifference ? sharedLength : 0} />
        </div>
      ))}
    </div>
  );
}

function Side({ message, shared }: { readonly message: Said | undefined; readonly shared: number }) {
  if (message === undefined) return <div class="message absent muted">–</div>;
  const { author, text } = message;
  return (
    <div class={`message by-${author}`}>
      <header>
        <b>{author === 'generated' ? 'model' : author}</b>
      </header>
      <span class="said">
        {shared > 0 && <Words text={text.slice(0, shared)} class="shared" />}
        <Words text={text.slice(shared)} class={shared > 0 ? 'differs' : ''} />
      </span>
    </div>
  );
}
