import { formatShare, mean } from '@agentjet/core';
import type { ServerAnswer, SwarmEvent } from '@agentjet/swarm-client';
import type { LogEntry } from '@agentjet/swarm-server';

type WriteLine = (line: string, more?: Partial<LogEntry>) => void;

/**
 * Prints a line for each new version of the weights, with the reports since the last one, and a line for each problem.
 */
export class SwarmPrinter {
  readonly #writeLine: WriteLine;
  #rewards: number[] = [];
  #numSuccesses = 0;
  #numFailed = 0;
  #numGone = 0;
  #title = '';
  /** The reasons why training has stopped, by policy if the run has several. */
  #problems: ReadonlyMap<string | undefined, string> = new Map();

  constructor(writeLine: WriteLine) {
    this.#writeLine = writeLine;
  }

  onEvent = (event: SwarmEvent): void => {
    if (event.type === 'notice') this.#writeLine(event.message);
    if (event.type === 'episode_gone') this.#noteGone(event);
    if (event.type === 'episode_ended') this.#noteEnd(event);
    if (event.type === 'server') this.#noteServer(event.server);
  };

  /** Prints the reports since the last line. */
  flush(title = 'since then'): void {
    const { length } = this.#rewards;
    const parts = [
      ...(length > 0
        ? [
            `${length} episodes`,
            `reward ${mean(this.#rewards).toFixed(3)}`,
            `success ${formatShare(this.#numSuccesses / length)}`,
          ]
        : []),
      ...(this.#numFailed > 0 ? [`${this.#numFailed} failed`] : []),
      ...(this.#numGone > 0 ? [`${this.#numGone} taken back`] : []),
    ];
    if (parts.length > 0 || title !== 'since then') this.#writeLine([title, ...parts].join('  '));
    this.#rewards = [];
    this.#numSuccesses = this.#numFailed = this.#numGone = 0;
  }

  #noteServer(server: ServerAnswer): void {
    const title = `step ${server.version}, ${server.state}`;
    if (title !== this.#title) this.flush(title);
    this.#title = title;
    const problems = problemsOf(server);
    for (const [policy, problem] of problems)
      if (this.#problems.get(policy) !== problem)
        this.#writeLine(`${trainingOf(policy)} has stopped: ${problem}`, { level: 'error', policy });
    for (const policy of this.#problems.keys())
      if (!problems.has(policy)) this.#writeLine(`${trainingOf(policy)} continues.`);
    this.#problems = problems;
  }

  #noteGone({ reason, episodeId: episode }: Extract<SwarmEvent, { type: 'episode_gone' }>): void {
    this.#numGone++;
    if (this.#numGone === 1) this.#writeLine(`The server took an episode back: ${reason}`, { level: 'warn', episode });
  }

  #noteEnd({ end, episodeId }: Extract<SwarmEvent, { type: 'episode_ended' }>): void {
    if (end.status === 'completed' && end.reward !== null) {
      this.#rewards.push(end.reward);
      this.#numSuccesses += end.is_success === true ? 1 : 0;
      return;
    }
    this.#numFailed++;
    if (this.#numFailed === 1)
      this.#writeLine(`Episode ${episodeId} ended as ${end.status}: ${end.error ?? 'no reason was given'}`, {
        level: 'warn',
        episode: episodeId,
      });
  }
}

/** The reasons why training has stopped, by policy. The key is undefined in a run with one policy. */
function problemsOf({ problem, policies = {} }: ServerAnswer): ReadonlyMap<string | undefined, string> {
  const all = [
    [undefined, problem] as const,
    ...Object.entries(policies).map(([name, each]) => [name, each.problem] as const),
  ];
  return new Map(all.flatMap(([name, said]) => (said === undefined ? [] : [[name, said] as const])));
}

const trainingOf = (policy: string | undefined): string =>
  policy === undefined ? 'Training' : `Training of the policy "${policy}"`;
