import { useEffect, useMemo, useState } from 'preact/hooks';
import { groupsOfStep, type StepGroup } from '../../src/page-logic/groups-of-step.js';
import { showCount, showNumber, showRate, showSeconds } from '../../src/page-logic/format.js';
import { phases } from '../../src/page-logic/step-times.js';
import type { EpisodeStore } from '../../src/page-logic/episode-store.js';
import { Choice, Empty, Link, Panel, Segments, Shown, Words } from '../parts/basics.js';
import { RewardDots } from '../parts/reward-dots.js';
import { TimeShares } from '../parts/time-shares.js';
import { useKeys } from '../parts/keyboard.js';
import { go, route, runData, setQuery, type Metrics } from '../state/store.js';

/** One step: its groups as rows of dots by reward, and where its time went. Without a step, the newest one is shown. */
export function Step() {
  const { run } = route.value;
  const data = runData(run);
  useEffect(() => {
    data.needMetrics();
    data.needEpisodes();
  }, [run]);
  return (
    <div class="page">
      <Shown of={data.episodes}>
        {({ store, version }) => <Body run={run} store={store} version={version} metrics={data.metrics.value.value} />}
      </Shown>
    </div>
  );
}

type BodyProps = {
  readonly run: string;
  readonly store: EpisodeStore;
  readonly version: number;
  readonly metrics: Metrics | undefined;
};

function Body({ run, store, version, metrics }: BodyProps) {
  const { item, query } = route.value;
  const steps = useMemo(() => [...new Set(store.step)].sort((a, b) => a - b), [store, version]);
  const step = item === '' ? (steps.at(-1) ?? 0) : Number(item);
  const trained = useMemo(() => groupsOfStep(store, step, false), [store, version, step]);
  const evaluated = useMemo(() => groupsOfStep(store, step, true), [store, version, step]);
  const isEvaluation = query['phase'] === 'evaluation' || trained.length === 0;
  const groups = sortGroups(isEvaluation ? evaluated : trained, query['sort'] ?? '');
  const at = steps.indexOf(step);
  const [chosen, setChosen] = useState(0);
  const move = (by: number): void => {
    const next = steps[at + by];
    if (next !== undefined) go({ view: 'step', run, item: String(next), query });
  };
  useKeys(() => ({
    h: () => move(-1),
    l: () => move(1),
    j: () => setChosen(Math.min(groups.length - 1, chosen + 1)),
    k: () => setChosen(Math.max(0, chosen - 1)),
    Enter: () => openGroup(run, step, groups[chosen]),
    u: () => go({ view: 'overview', run }),
  }));
  if (steps.length === 0) return <Empty>No episode is finished yet.</Empty>;
  return (
    <>
      <div class="bar">
        <h1>Step {step}</h1>
        <div class="pager">
          <button type="button" disabled={at <= 0} onClick={() => move(-1)} aria-label="Previous step">
            ←
          </button>
          <button
            type="button"
            disabled={at === -1 || at >= steps.length - 1}
            onClick={() => move(1)}
            aria-label="Next step"
          >
            →
          </button>
        </div>
        {trained.length > 0 && evaluated.length > 0 && (
          <Segments
            label="Phase"
            value={isEvaluation ? 'evaluation' : 'train'}
            options={[
              ['train', 'Training'],
              ['evaluation', 'Evaluation'],
            ]}
            onChange={(value) => setQuery({ phase: value === 'train' ? '' : value })}
          />
        )}
        <Choice
          label="Order"
          value={query['sort'] ?? ''}
          options={[
            ['', 'as sampled'],
            ['spread', 'spread'],
            ['mean', 'mean reward'],
            ['failed', 'failures'],
            ['forked', 'forks'],
          ]}
          onChange={(sort) => setQuery({ sort })}
        />
        <Link to={{ view: 'episodes', run, query: { step: String(step) } }} class="button">
          Episodes of this step
        </Link>
      </div>
      <StepFigures line={metrics?.steps.find((line) => line.step === step)} />
      <GroupRows {...{ groups, run, step, store, chosen, isEvaluation }} />
    </>
  );
}

function openGroup(run: string, step: number, group: StepGroup | undefined): void {
  if (group !== undefined) go({ view: 'group', run, item: group.group, query: { step: String(step) } });
}

function sortGroups(groups: readonly StepGroup[], sort: string): readonly StepGroup[] {
  const key = sort as 'spread' | 'mean' | 'failed' | 'forked';
  if (!['spread', 'mean', 'failed', 'forked'].includes(sort)) return groups;
  return groups.toSorted((a, b) => Number(b[key] ?? 0) - Number(a[key] ?? 0));
}

/** Where the time of the step went, and its main figures. */
function StepFigures({ line }: { readonly line: Metrics['steps'][number] | undefined }) {
  if (line === undefined) return null;
  const times = phases.map(([name, words]) => [words, line[name] ?? 0] as const);
  const total = times.reduce((sum, [, seconds]) => sum + seconds, 0);
  return (
    <Panel title="Figures" note={showSeconds(total)}>
      <TimeShares parts={times} />
      <dl class="figures">
        {(
          [
            'reward_mean',
            'success_rate',
            'groups',
            'groups_skipped',
            'trained_tokens',
            'entropy',
            'kl',
            'grad_norm',
            'learning_rate',
          ] as const
        ).map(
          (name) =>
            line[name] !== undefined && (
              <div key={name}>
                <dt>{name.replaceAll('_', ' ')}</dt>
                <dd class="num">{showNumber(line[name])}</dd>
              </div>
            ),
        )}
      </dl>
    </Panel>
  );
}

type RowsProps = {
  readonly groups: readonly StepGroup[];
  readonly run: string;
  readonly step: number;
  readonly store: EpisodeStore;
  readonly chosen: number;
  readonly isEvaluation: boolean;
};

/** Only this many groups are drawn, because nobody reads more. */
const maxGroups = 300;

function GroupRows({ groups, run, step, store, chosen, isEvaluation }: RowsProps) {
  const idle = groups.filter((group) => group.idle !== undefined).length;
  const note = isEvaluation
    ? showCount(groups.length, 'task')
    : `${showCount(groups.length, 'group')}, ${idle} without a gradient`;
  return (
    <Panel title={isEvaluation ? 'Tasks of the evaluation' : 'Groups'} note={note}>
      <ul class="groups">
        {groups.slice(0, maxGroups).map((group, at) => (
          <li key={group.group} class={at === chosen ? 'chosen' : ''}>
            <div class="group-name">
              <Link to={{ view: 'group', run, item: group.group, query: { step: String(step) } }}>
                {group.task || group.group}
              </Link>
              {group.kind !== '' && (
                <span class="muted">
                  <Words text={group.kind} />
                </span>
              )}
            </div>
            <RewardDots run={run} store={store} rows={group.rows} />
            <div class="group-figures num">
              <span>mean {showRate(group.mean)}</span>
              <span>spread {showRate(group.spread)}</span>
            </div>
            <div class="group-why">
              {group.idle !== undefined && <span class="idle">no gradient: {group.idle}</span>}
              {group.failed > 0 && <span class="bad">{showCount(group.failed, 'failed episode')}</span>}
              {group.forked > 0 && <span class="warn">{showCount(group.forked, 'forked episode')}</span>}
            </div>
          </li>
        ))}
      </ul>
      {groups.length > maxGroups && (
        <p class="muted">
          The first {maxGroups} of {groups.length} are shown.
        </p>
      )}
    </Panel>
  );
}
