import { useEffect, useMemo } from 'preact/hooks';
import { showCount, showRate, showSeconds } from '../../src/page-logic/format.js';
import { toRewardChart } from '@agentjet/run-folder/curve';
import { sumUp } from '../../src/page-logic/sum-up.js';
import type { RunFindings, RunOverview } from '../../src/wire.js';
import { Empty, FactList, Link, Panel, Shown, Words } from '../parts/basics.js';
import { IntervalChart } from '../parts/interval-chart.js';
import { LineChart, type Line } from '../parts/line-chart.js';
import { answerOf, go, route, runData, type Metrics } from '../state/store.js';
import { Kinds, TaskChanges } from './task-changes.js';

/** Shows whether the run learned, what keeps it from learning, on which tasks it did not, and its settings. */
export function Overview() {
  const { run } = route.value;
  useEffect(() => runData(run).needMetrics(), [run]);
  return (
    <div class="page">
      <Shown of={answerOf<RunOverview>(`runs/${run}`)}>{(overview) => <Body overview={overview} />}</Shown>
    </div>
  );
}

function Body({ overview }: { readonly overview: RunOverview }) {
  const { run, evaluations, tasks, kinds } = overview;
  const { tone, word, sentence } = sumUp(overview);
  return (
    <>
      <div class={`verdict ${tone}`}>
        <h1>{word}</h1>
        <p>{sentence}</p>
        {run.problem !== undefined && (
          <p class="bad">
            <Words text={run.problem} />
          </p>
        )}
      </div>
      <Findings run={run.id} />
      <div class="columns">
        <Panel title="Did it learn?">
          {evaluations.length === 0 ? (
            <Empty>Nothing was evaluated. Set trainer_common.test_freq, and tasks for evaluation.</Empty>
          ) : (
            <IntervalChart points={evaluations} />
          )}
        </Panel>
        <Panel title="Reward in training">
          <Shown of={runData(run.id).metrics}>{(metrics) => <RewardChart metrics={metrics} run={run.id} />}</Shown>
        </Panel>
      </div>
      {kinds.length > 0 && <Kinds kinds={kinds} />}
      {tasks.length > 0 && <TaskChanges run={run.id} tasks={tasks} />}
      <Facts overview={overview} />
    </>
  );
}

function RewardChart({ metrics: { steps: lines }, run }: { readonly metrics: Metrics; readonly run: string }) {
  const { title, steps, curves } = useMemo(() => {
    const chart = toRewardChart(lines, []);
    const all = lines.map(({ step }) => step);
    const shown = chart.series.map(({ name, color, style, points }): Line => {
      const values = new Map(points.map(({ x, y }) => [x, y]));
      return {
        name,
        colour: color,
        values: all.map((step) => values.get(step) ?? null),
        isFaint: style === 'faint',
        ...(style === 'dashed' && { dash: [6, 4] }),
      };
    });
    return { title: chart.title, steps: all, curves: shown };
  }, [lines]);
  if (lines.length === 0) return <Empty>No step is finished yet.</Empty>;
  return (
    <LineChart
      title={title}
      steps={steps}
      lines={curves}
      height={206}
      onStep={(step) => go({ view: 'step', run, item: String(step) })}
    />
  );
}

function Findings({ run }: { readonly run: string }) {
  return (
    <Panel title="What keeps it from learning">
      <Shown of={answerOf<RunFindings>(`runs/${run}/findings`)}>
        {({ findings, unseen }) => (
          <>
            {findings.length === 0 && <Empty>No rule found a problem in the records of this run.</Empty>}
            <ol class="findings">
              {findings.map((finding) => (
                <FindingItem key={finding.cause} finding={finding} run={run} />
              ))}
            </ol>
            {unseen.length > 0 && (
              <details>
                <summary>{showCount(unseen.length, 'cause')} could not be looked for</summary>
                <ul class="events">
                  {unseen.map(({ cause, needs }) => (
                    <li key={cause}>
                      {cause.replaceAll('_', ' ')}: needs {needs.join(', ')}
                    </li>
                  ))}
                </ul>
              </details>
            )}
          </>
        )}
      </Shown>
    </Panel>
  );
}

function FindingItem({ finding, run }: { readonly finding: RunFindings['findings'][number]; readonly run: string }) {
  const { cause, asks, summary, cure, since, episodes, threshold } = finding;
  return (
    <li class={asks === 'change' ? 'alarm' : ''}>
      <h3>
        {cause.replaceAll('_', ' ')}
        {asks === 'nothing' && <span class="since muted">needs no change</span>}
        {since !== undefined && (
          <Link to={{ view: 'step', run, item: String(since) }} class="since">
            since step {since}
          </Link>
        )}
      </h3>
      <p title={threshold}>
        <Words text={summary} />
      </p>
      <p class="cure">
        <Words text={cure} />
      </p>
      {episodes.length > 0 && (
        <p class="evidence">
          {episodes.slice(0, 3).map((id) => (
            <Link key={id} to={{ view: 'episode', run, item: id }} class="mono">
              {id}
            </Link>
          ))}
        </p>
      )}
    </li>
  );
}

const shownSettings = [
  'model.path',
  'backbone',
  'trainer_common.algorithm.adv_estimator',
  'trainer_common.optim.lr',
  'data.train_batch_size',
  'rollout.num_repeat',
  'rollout.temperature',
  'rollout.max_response_length_in_one_turn',
  'rollout.user_workflow',
];

function Facts({ overview: { run, settings, events, evaluations } }: { readonly overview: RunOverview }) {
  const facts: readonly (readonly [string, string])[] = [
    ['Folder', run.path],
    ['Steps', run.totalSteps === null ? String(run.step) : `${run.step} of ${run.totalSteps}`],
    ['Time', showSeconds(run.seconds)],
    ['Evaluations', evaluations.map(({ step, rate }) => `${showRate(rate)} at step ${step}`).join(', ') || 'none'],
    ...shownSettings.flatMap((name) => (settings[name] === undefined ? [] : [[name, settings[name]] as const])),
  ];
  return (
    <Panel title="The run">
      <FactList facts={facts} />
      <details>
        <summary>All {Object.keys(settings).length} settings</summary>
        <FactList facts={Object.entries(settings)} mono />
      </details>
      {events.length > 0 && (
        <details>
          <summary>{showCount(events.length, 'event')}</summary>
          <ul class="events">
            {events.map(({ time, text }, at) => (
              <li key={at}>
                <time class="mono">{time}</time> <Words text={text} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}
