import cliProgress from 'cli-progress';
import { formatCount, formatEvent, formatSeconds, type JobEvent, type JobListener, type Phase, type Transcript } from 'agentjet';

/** Running totals of the phase that the bar shows. */
type PhaseTotals = { readonly startedAt: number; finished: number; failed: number; rewardSum: number; tokens: number };

const phaseNames: Readonly<Record<Phase, string>> = { evaluate: 'evaluating', sample: 'sampling', train: 'training', debug: 'debugging' };

function createBar(stream: NodeJS.WritableStream): cliProgress.SingleBar {
  return new cliProgress.SingleBar({
    stream,
    format: '{label} [{bar}] {value}/{total}{detail}',
    barsize: 24,
    barCompleteChar: '=',
    barIncompleteChar: ' ',
    hideCursor: true,
    clearOnComplete: true,
    stopOnComplete: false,
    gracefulExit: false,
    linewrap: false,
    fps: 10,
  });
}

function describeTotals(totals: PhaseTotals, total: number): string {
  const seconds = (performance.now() - totals.startedAt) / 1000;
  const left = totals.finished === 0 ? undefined : (seconds / totals.finished) * (total - totals.finished);
  const parts = [
    `reward ${totals.finished === 0 ? '-' : (totals.rewardSum / totals.finished).toFixed(3)}`,
    `${formatCount(totals.tokens)} tokens`,
    ...(totals.failed > 0 ? [`${totals.failed} failed`] : []),
    left === undefined ? '' : `${formatSeconds(left)} left`,
  ];
  return `  ${parts.filter((part) => part !== '').join('  ')}`;
}

/** A bar while a phase runs, and a line for each event that has one. For a stream that is a terminal. */
export function createTerminalListener(stream: NodeJS.WritableStream, formatTranscript: (transcript: Transcript) => string): JobListener {
  let bar: cliProgress.SingleBar | undefined;
  let totals: PhaseTotals = { startedAt: 0, finished: 0, failed: 0, rewardSum: 0, tokens: 0 };
  let total = 0;

  const stopBar = (): void => {
    bar?.stop();
    bar = undefined;
  };
  const startPhase = (event: Extract<JobEvent, { type: 'phase_started' }>): void => {
    stopBar();
    totals = { startedAt: performance.now(), finished: 0, failed: 0, rewardSum: 0, tokens: 0 };
    total = event.episodes;
    bar = createBar(stream);
    const label = event.step === 0 ? phaseNames[event.phase] : `step ${event.step} ${phaseNames[event.phase]}`;
    bar.start(event.phase === 'train' ? 1 : total, 0, { label, detail: '' });
  };
  const countEpisode = ({ episode }: Extract<JobEvent, { type: 'episode_finished' }>): void => {
    totals.finished++;
    totals.tokens += episode.stats.generatedTokens;
    if (episode.status === 'completed') totals.rewardSum += episode.reward;
    else totals.failed++;
    bar?.update(totals.finished, { detail: describeTotals(totals, total) });
  };

  return (event) => {
    if (event.type === 'phase_started') startPhase(event);
    if (event.type === 'episode_finished') countEpisode(event);
    if (event.type === 'phase_finished') stopBar();
    const line = event.type === 'transcript' ? formatTranscript(event.transcript) : formatEvent(event);
    if (line === undefined) return;
    stopBar();
    stream.write(`${line}\n`);
  };
}
