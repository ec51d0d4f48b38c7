import type { CommonConfig } from '@agentjet/core';
import type { Episode } from '@agentjet/rollout';
import type { JobListener, Phase } from '@agentjet/records';
import type { SwarmEvent } from '@agentjet/swarm-client';
import type { RecordedEvent, RunFollower, ServedFiles } from '@agentjet/swarm-server';
import { loadRunFollower } from '@agentjet/trackers';

type Claimed = Extract<SwarmEvent, { type: 'episode_started' }>['episode'];
type Purpose = Claimed['purpose'];

export type TeamTasks = { readonly numTasks: number; readonly numEvaluationTasks: number };

/** The number of steps of a policy. Without `total_training_steps`, it follows from the number of tasks. */
export function toTotalSteps({ trainerCommon, data }: CommonConfig, { numTasks }: TeamTasks): number {
  const { totalTrainingSteps, totalEpochs } = trainerCommon;
  return totalTrainingSteps ?? Math.ceil((totalEpochs * numTasks) / data.trainBatchSize);
}

/**
 * Creates the events of an ordinary run from the records of the server and the episodes of the client. Each step of the
 * first policy is one phase.
 */
export class TeamEvents {
  readonly #emit: JobListener;
  readonly #counts: TeamTasks;
  readonly #phases = new Map<Purpose, { readonly phase: Phase; readonly step: number; readonly sinceMs: number }>();
  policies: ServedFiles['policies'] = [];
  readonly seconds = { sampling: 0, training: 0, evaluating: 0 };
  readonly tally = { completed: 0, failed: 0 };
  #step = 0;

  constructor(emit: JobListener, counts: TeamTasks) {
    this.#emit = emit;
    this.#counts = counts;
  }

  /** Pass this to the server. The server calls it with the folders of the policies. */
  follow = async (files: ServedFiles): Promise<RunFollower> => {
    this.policies = files.policies;
    const trackers = await loadRunFollower(files);
    return {
      ...trackers,
      wake: (policy, event) => {
        this.#noteRecorded(policy, event);
        trackers.wake(policy);
      },
    };
  };

  /** `step` is the last step that the first policy made before this process started. */
  begin(step: number): void {
    this.#step = step;
  }

  noteClient = (event: SwarmEvent): void => {
    if (event.type === 'notice') this.#emit({ type: 'notice', message: event.message });
    if (event.type === 'episode_started') this.#openPhase(event.episode.purpose);
  };

  noteEpisode = (episode: Episode, { purpose }: Claimed): void => {
    const { phase, step } = this.#openPhase(purpose);
    if (episode.status === 'completed') this.tally.completed++;
    else if (episode.error.outage === undefined) this.tally.failed++;
    this.#emit({ type: 'episode_finished', phase, step, episode });
  };

  #noteRecorded(policy: string, event: RecordedEvent): void {
    const lead = this.policies[0]?.name;
    if (event.type === 'evaluated') {
      this.seconds.evaluating += event.evaluation.seconds;
      this.#closePhase('evaluation');
      return this.#emit(event);
    }
    if (event.type === 'checkpoint_saved') return this.#emit(event);
    const { metrics, step } = event;
    this.seconds.training += metrics['seconds_training'] ?? 0;
    const config = this.policies.find(({ name }) => name === policy)?.config;
    const totalSteps = config === undefined ? 0 : toTotalSteps(config, this.#counts);
    if (policy === lead) {
      this.seconds.sampling += metrics['seconds_sampling'] ?? 0;
      this.#closePhase('train');
      this.#step = Math.max(step, this.#step);
    }
    this.#emit({ ...event, totalSteps, policy });
  }

  #openPhase(purpose: Purpose) {
    const open = this.#phases.get(purpose);
    if (open !== undefined) return open;
    const isTraining = purpose === 'train';
    const phase: Phase = isTraining ? 'sample' : 'evaluate';
    const step = isTraining ? this.#step + 1 : this.#step;
    const opened = { phase, step, sinceMs: performance.now() };
    this.#phases.set(purpose, opened);
    this.#emit({ type: 'phase_started', phase, step, episodes: this.#numEpisodes(purpose) });
    return opened;
  }

  #numEpisodes(purpose: Purpose): number {
    const [lead] = this.policies;
    if (lead === undefined) return 0;
    const { rollout, data, trainerCommon } = lead.config;
    if (purpose === 'train') return rollout.numRepeat * data.trainBatchSize;
    return trainerCommon.valPassN * this.#counts.numEvaluationTasks;
  }

  #closePhase(purpose: Purpose): void {
    const open = this.#phases.get(purpose);
    if (open === undefined) return;
    this.#phases.delete(purpose);
    const { phase, step, sinceMs } = open;
    this.#emit({ type: 'phase_finished', phase, step, seconds: (performance.now() - sinceMs) / 1000 });
  }
}
