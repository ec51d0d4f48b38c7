import { createScriptedModel, hasSpelling, type Line, type PlayOutcome, type Play, type Played } from '@agentjet/audit';
import { createRandom, cutText, deriveSeed, type ChatRequest, type Task } from '@agentjet/core';
import { runPhase, type RolloutContext } from '@agentjet/local-run';
import { isAgentsFailure, runEpisode, samplingDefaults, type Episode, type Policy } from '@agentjet/rollout';

export type PlayOptions = {
  readonly tasks: readonly Task[];
  readonly answerOf: (task: Task) => string | undefined;
  /** The right answers of all tasks. */
  readonly answers: readonly string[];
  /** The number of episodes of each play on each task. */
  readonly repeats: number;
  readonly seed: number;
  readonly idPrefix: string;
  /** Gets the requests of the agents. */
  readonly requests?: ChatRequest[];
  readonly onEpisode?: (episode: Episode) => void;
  readonly signal: AbortSignal | undefined;
};

/** Never asked, because each episode has its own scripted model. */
export const unusedPolicy: Policy = {
  kind: 'chat',
  model: { name: 'audit', generate: () => Promise.reject(new Error('An episode of an audit has no script.')) },
};

/**
 * Runs every play on every task. The episodes of a task are one group, so a judge that compares the episodes of a group
 * compares the plays.
 */
export async function playAll(
  context: RolloutContext,
  plays: readonly Play[],
  options: PlayOptions,
): Promise<readonly Played[]> {
  const { tasks, repeats, seed, idPrefix, signal } = options;
  if (plays.length === 0 || tasks.length === 0) return [];
  const { config } = context;
  const stage = new Stage(plays, options);
  const { groups } = await runPhase(
    {
      ...context,
      emit: reportProgress(context, tasks.length * plays.length * repeats), // hundreds of episodes fail on purpose
      runEpisode: (task, given, identity) =>
        runEpisode(task, { ...given, policy: stage.policyFor(task, identity) }, identity),
    },
    {
      phase: 'probe',
      step: 0,
      tasks,
      numRepeat: plays.length * repeats,
      maxParallel: context.workers.now,
      sampling: samplingDefaults(config),
      timeoutMs: config.rollout.episodeTimeout * 1000,
      seed,
      idPrefix,
      signal,
    },
  );
  context.keeper.release(groups);
  const isZero = config.rollout.failedEpisodePolicy === 'zero_reward';
  const episodes = groups.flatMap((group) => group.episodes);
  for (const episode of episodes) options.onEpisode?.(episode);
  return stage.sort(episodes, isZero);
}

const progressMs = 15_000;

/** Reports how many episodes have ended, but not more often than every 15 seconds. */
function reportProgress({ emit }: RolloutContext, total: number): RolloutContext['emit'] {
  let done = 0;
  let reportedAt = performance.now();
  return ({ type }) => {
    if (type !== 'episode_finished') return;
    done++;
    if (performance.now() - reportedAt < progressMs) return;
    reportedAt = performance.now();
    emit({ type: 'notice', message: `${done} of ${total} episodes have ended.` });
  };
}

/** Gives each episode the model of its play, and keeps what these models wrote. */
class Stage {
  readonly #plays: readonly Play[];
  readonly #options: PlayOptions;
  readonly #said = new Map<string, string>();

  constructor(plays: readonly Play[], options: PlayOptions) {
    this.#plays = plays;
    this.#options = options;
  }

  policyFor(task: Task, { episodeId, repeatIndex, seed }: Pick<Episode, 'episodeId' | 'repeatIndex' | 'seed'>): Policy {
    const { answers, answerOf, requests } = this.#options;
    const play = this.#playAt(repeatIndex);
    const random = createRandom(deriveSeed(seed, 'audit', play?.way.name ?? ''));
    const scene = { question: task.mainQuery, answer: answerOf(task), answers, random };
    const script = play?.way.open(scene) ?? (() => ({ text: '' }));
    const onLine = (request: ChatRequest, line: Line): void => {
      requests?.push(request);
      if (!this.#said.has(episodeId)) this.#said.set(episodeId, describeLine(line));
    };
    return { kind: 'chat', model: createScriptedModel({ script, random, onLine }) };
  }

  /** Sorts the episodes by play. A play is not counted on a task without the answer that it needs. */
  sort(episodes: readonly Episode[], isZero: boolean): readonly Played[] {
    const byPlay = new Map<Play, PlayOutcome[]>(this.#plays.map((play) => [play, []]));
    for (const episode of episodes) {
      const play = this.#playAt(episode.repeatIndex);
      if (play === undefined || !this.#isPossible(play, episode.task)) continue;
      byPlay.get(play)?.push(toOutcome(episode, { said: this.#said.get(episode.episodeId) ?? '', isZero }));
    }
    return [...byPlay].map(([play, outcomes]) => ({ play, outcomes }));
  }

  #playAt(place: number): Play | undefined {
    return this.#plays[place % this.#plays.length];
  }

  #isPossible({ way }: Play, task: Task): boolean {
    if (way.needs?.includes('answer') !== true) return true;
    const answer = this.#options.answerOf(task);
    return answer !== undefined && (way.isSpelling !== true || hasSpelling(way.name, answer));
  }
}

function describeLine({ text, thoughts, calls = [] }: Line): string {
  const parts = [
    ...(thoughts === undefined ? [] : [`(thinks: ${thoughts})`]),
    ...calls.map((call) => `(calls ${call.name}${call.arguments === undefined ? '' : ` ${call.arguments}`})`),
    text,
  ];
  return cutText(parts.filter((part) => part !== '').join(' '));
}

function toOutcome(
  episode: Episode,
  { said, isZero }: { readonly said: string; readonly isZero: boolean },
): PlayOutcome {
  const { taskId } = episode.task;
  const turnRewards = episode.turnRewards?.reduce((sum, { value }) => sum + value, 0) ?? 0;
  if (episode.status === 'completed')
    return { kind: 'scored', taskId, said, reward: episode.reward + turnRewards, isSuccess: episode.isSuccess };
  const { error } = episode;
  if (error.outage !== undefined || error.code === 'aborted') return { kind: 'lost', taskId, said };
  return { kind: 'failed', taskId, said, message: error.message, reward: isZero && isAgentsFailure(error) ? 0 : null };
}
