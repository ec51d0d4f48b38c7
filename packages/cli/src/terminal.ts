import cliProgress from 'cli-progress';
import { formatCount, formatSeconds } from '@agentjet/core';
import type { JobEvent, JobListener, Phase, RunPlan } from '@agentjet/records';
import type { Episode } from 'agentjet';
import { formatEvent, type TranscriptStyle } from 'agentjet/printing';
import { drawCurve } from './draw-curve.js';

const phaseNames: Readonly<Record<Phase, string>> = {
  evaluate: 'evaluating',
  sample: 'sampling',
  train: 'training',
  probe: 'probing',
  debug: 'debugging',
};

function createBar(stream: NodeJS.WritableStream): cliProgress.SingleBar {
  return new cliProgress.SingleBar({
    stream,
    format: '{label} [{bar}] {value}/{total}{detail}',
    barsize: 24,
    barCompleteChar: '=',
    barIncompleteChar: ' ',
    hideCursor: true,
    clearOnComplete: true,
    gracefulExit: false,
    linewrap: false,
    fps: 10,
  });
}

const isNumber = (value: number | undefined): value is number => value !== undefined;
const secondsSince = (start: number): number => (performance.now() - start) / 1000;

/** The time left in the whole run, estimated from the steps made so far. */
class RunClock {
  #plan: RunPlan | undefined;
  #firstStepAt: number | undefined;
  #stepsDone = 0;

  watch(event: JobEvent): void {
    if (event.type === 'run_started') this.#plan = event.plan;
    if (event.type === 'phase_started' && event.phase === 'sample') this.#firstStepAt ??= performance.now();
    if (event.type === 'step_finished') this.#stepsDone++;
  }

  label(phase: Phase, step: number): string {
    return this.#plan === undefined || step === 0
      ? phaseNames[phase]
      : `step ${step}/${this.#plan.totalSteps} ${phaseNames[phase]}`;
  }

  describeRest(): readonly string[] {
    if (this.#plan === undefined || this.#firstStepAt === undefined || this.#stepsDone === 0) return [];
    const stepsLeft = this.#plan.totalSteps - this.#plan.firstStep + 1 - this.#stepsDone;
    if (stepsLeft === 0) return [];
    return [`run ${formatSeconds((secondsSince(this.#firstStepAt) / this.#stepsDone) * stepsLeft)} left`];
  }
}

/** Running totals of the phase that the bar shows. */
class PhaseTotals {
  readonly #total: number;
  readonly #startedAt = performance.now();
  /** The number of episodes that count. Each place of a group needs one such episode. */
  finished = 0;
  #failed = 0;
  /** Attempts that were lost to outages. Most of them are repeated. */
  #lost = 0;
  #rewardSum = 0;
  #tokens = 0;

  constructor(total: number) {
    this.#total = total;
  }

  add(episode: Episode): void {
    this.#tokens += episode.stats.generatedTokens;
    if (episode.status === 'failed' && episode.error.outage !== undefined) {
      this.#lost++;
      return;
    }
    this.finished++;
    if (episode.status === 'completed') this.#rewardSum += episode.reward;
    else this.#failed++;
  }

  describe(isPaused: boolean): readonly string[] {
    const left = (secondsSince(this.#startedAt) / this.finished) * (this.#total - this.finished);
    const failed = this.#failed > 0 ? [`${this.#failed} failed`] : [];
    const lost = this.#lost > 0 ? [`${this.#lost} lost to outages`] : [];
    return [
      ...(this.finished > 0 ? [`reward ${(this.#rewardSum / this.finished).toFixed(3)}`] : []),
      `${formatCount(this.#tokens)} tokens`,
      ...failed,
      ...lost,
      isPaused ? 'paused' : this.finished === 0 ? 'waiting' : `${formatSeconds(left)} left`,
    ];
  }
}

type ShownPhase = {
  readonly phase: Phase;
  readonly step: number;
  readonly episodes: number;
  readonly totals: PhaseTotals;
};

/** Shows a bar while a phase runs, and a line for each event that has one. The stream must be a terminal. */
class Terminal {
  readonly #stream: NodeJS.WritableStream;
  readonly #clock = new RunClock();
  #bar: cliProgress.SingleBar | undefined;
  #isPaused = false;
  readonly #rewards: number[] = [];
  /** The running phases; there are several if sampling runs ahead. The bar shows the one that began last. */
  readonly #phases = new Map<string, ShownPhase>();

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    process.once('exit', () => this.stopBar());
  }

  show(event: JobEvent, line: string | undefined): void {
    this.#clock.watch(event);
    if (event.type === 'pause') this.#isPaused = event.isHeld;
    if (event.type === 'step_finished') this.#rewards.push(...[event.metrics['reward_mean']].filter(isNumber));
    if (event.type === 'phase_started') {
      const { phase, step, episodes } = event;
      this.#phases.set(`${phase} ${step}`, { phase, step, episodes, totals: new PhaseTotals(episodes) });
      this.#showLast();
    }
    if (event.type === 'episode_finished') this.#advance(`${event.phase} ${event.step}`, event.episode);
    if (event.type === 'phase_finished') {
      this.#phases.delete(`${event.phase} ${event.step}`);
      this.#showLast();
    }
    if (line === undefined) return;
    this.stopBar();
    const curve = event.type === 'run_finished' ? drawCurve(this.#rewards, 60) : '';
    this.#stream.write(`${curve === '' ? '' : `reward ${curve}\n`}${line}\n`);
  }

  /** Shows the cursor again. */
  stopBar(): void {
    this.#bar?.stop();
    this.#bar = undefined;
  }

  #showLast(): void {
    this.stopBar();
    const shown = [...this.#phases.values()].at(-1);
    if (shown === undefined) return;
    const { phase, step, episodes, totals } = shown;
    this.#bar = createBar(this.#stream);
    this.#bar.start(Math.max(1, episodes), totals.finished, { label: this.#clock.label(phase, step), detail: '' });
  }

  #advance(key: string, episode: Episode): void {
    const found = this.#phases.get(key);
    found?.totals.add(episode);
    if (found === undefined || found !== [...this.#phases.values()].at(-1)) return;
    const curve = drawCurve(this.#rewards, 16);
    const rest = [...(this.#isPaused ? [] : this.#clock.describeRest()), ...(curve === '' ? [] : [curve])];
    this.#bar?.update(found.totals.finished, {
      detail: `  ${[...found.totals.describe(this.#isPaused), ...rest].join('  ')}`,
    });
  }
}

/** Shows the events of a job on a terminal. `style` colours the transcripts of debugged episodes. */
export function createTerminalListener(stream: NodeJS.WritableStream, style?: TranscriptStyle): JobListener {
  const terminal = new Terminal(stream);
  return (event) => terminal.show(event, formatEvent(event, style));
}
