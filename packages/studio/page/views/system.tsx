import { useEffect, useMemo } from 'preact/hooks';
import { showBytes, showCount, showNumber, showSeconds } from '../../src/page-logic/format.js';
import { phasesOf, tokensPerSecond, totalTimes } from '../../src/page-logic/step-times.js';
import type { DiskPart, EpisodeTimes, RunSystem } from '../../src/wire.js';
import { Empty, Panel, Shown } from '../parts/basics.js';
import { LineChart, type Line } from '../parts/line-chart.js';
import { TimeShares } from '../parts/time-shares.js';
import { number, Table } from '../parts/table.js';
import { answerOf, go, route, runData, type Metrics } from '../state/store.js';

/** Shows how a run spent its time, how fast it was, and how much memory, CPU and disk it used. */
export function System() {
  const { run } = route.value;
  useEffect(() => runData(run).needMetrics(), [run]);
  return (
    <div class="page">
      <div class="bar">
        <h1>System</h1>
      </div>
      <Shown of={runData(run).metrics}>
        {(metrics) => (
          <Shown of={answerOf<RunSystem>(`runs/${run}/system`)}>
            {(system) => <Body run={run} metrics={metrics} system={system} />}
          </Shown>
        )}
      </Shown>
    </div>
  );
}

type BodyProps = { readonly run: string; readonly metrics: Metrics; readonly system: RunSystem };

function Body({ run, metrics, system }: BodyProps) {
  const { steps } = metrics;
  const last = steps.at(-1)?.step;
  const total = useMemo(() => totalTimes(metrics, system), [metrics, system]);
  if (last === undefined) return <Empty>No step is finished yet.</Empty>;
  return (
    <>
      <Panel title="Where the time went" note={showSeconds(total.reduce((sum, [, seconds]) => sum + seconds, 0))}>
        <TimeShares parts={total} />
      </Panel>
      <StepEpisodes run={run} step={last} />
      <Charts run={run} metrics={metrics} system={system} />
      <Disk parts={system.disk} />
    </>
  );
}

const partWords: Readonly<Record<keyof EpisodeTimes['parts'], string>> = {
  waiting: 'waiting for the engine',
  prompt: 'reading prompts',
  sampling: 'sampling',
  answering: 'rest of the calls',
  untrained: 'other models',
  spans: 'tools and environments',
  judging: 'judging',
  rest: 'the agent itself',
};

function StepEpisodes({ run, step }: { readonly run: string; readonly step: number }) {
  const wanted = Number(route.value.query['step'] ?? step);
  return (
    <Panel title={`Where the episodes of step ${wanted} spent their time`}>
      <Shown of={answerOf<EpisodeTimes>(`runs/${run}/times?step=${wanted}`)}>
        {({ episodes, timed, seconds, parts }) =>
          timed === 0 ? (
            <Empty>The episodes of this step have no recorded times of calls.</Empty>
          ) : (
            <>
              <TimeShares
                parts={Object.entries(partWords).map(
                  ([name, words]) => [words, parts[name as keyof typeof parts]] as const,
                )}
              />
              <p class="muted">
                {showCount(episodes, 'episode')} of {showSeconds(seconds / Math.max(1, episodes))} on average, added up.
                Episodes run at the same time, so the sum is longer than the step.
              </p>
            </>
          )
        }
      </Shown>
    </Panel>
  );
}

function Charts({ run, metrics: { steps: lines }, system }: BodyProps) {
  const { steps, times, speed } = useMemo(() => {
    const phases = phasesOf(lines);
    return {
      steps: lines.map(({ step }) => step),
      times: phases.map((phase, at) => toLine(phase.words, at, phase.seconds)),
      speed: tokensPerSecond(lines).map(({ words, values }, at) => toLine(words, at, values)),
    };
  }, [lines]);
  const onStep = (step: number): void => go({ view: 'system', run, query: { step: String(step) } });
  const points = system.points;
  const [at, memory, cores, disk] = useMemo(
    () => [
      points.map(({ step }) => step),
      [
        toLine(
          'now',
          0,
          points.map(({ rssMb }) => rssMb),
        ),
        toLine(
          'most so far',
          1,
          points.map(({ peakRssMb }) => peakRssMb),
        ),
      ],
      [
        toLine(
          'cores',
          0,
          points.map((point) => point.cores),
        ),
      ],
      [
        toLine(
          'free',
          0,
          points.map(({ diskFreeMb }) => (diskFreeMb === null ? null : diskFreeMb / 1024)),
        ),
      ],
    ],
    [points],
  );
  return (
    <div class="charts">
      <LineChart title="Seconds of a step" steps={steps} lines={times} onStep={onStep} />
      <LineChart title="Tokens a second" steps={steps} lines={speed} onStep={onStep} />
      {points.length > 0 && (
        <>
          <LineChart title="Memory of the process, MiB" steps={at} lines={memory} onStep={onStep} />
          <LineChart title="CPU cores used" steps={at} lines={cores} onStep={onStep} />
          <LineChart title="Free disk, GiB" steps={at} lines={disk} onStep={onStep} />
        </>
      )}
    </div>
  );
}

const dashes: readonly (readonly number[] | undefined)[] = [undefined, [6, 3], [2, 3], [9, 3, 2, 3]];

function toLine(name: string, at: number, values: readonly (number | null)[]): Line {
  const dash = dashes[at % dashes.length];
  return { name, colour: `run-${(at % 8) + 1}`, values, ...(dash !== undefined && { dash }) };
}

function Disk({ parts }: { readonly parts: readonly DiskPart[] }) {
  if (parts.length === 0) return null;
  return (
    <Panel title="Disk" note={showBytes(parts.reduce((sum, { bytes }) => sum + bytes, 0))}>
      <Table columns={['Part of the run folder', number('Bytes'), number('Size')]}>
        {parts.map(({ name, bytes }) => (
          <tr key={name}>
            <th scope="row" class="mono">
              {name}
            </th>
            <td class="num">{showNumber(bytes)}</td>
            <td class="num">{showBytes(bytes)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  );
}
