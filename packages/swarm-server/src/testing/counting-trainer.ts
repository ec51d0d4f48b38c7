import type { TrainerPort } from '../swarm/trainer-port.js';

/**
 * Creates a trainer that only counts how often each episode was applied to its weights. It continues to count when a
 * server is opened again.
 */
export function createCountingTrainer(): {
  readonly open: () => Promise<TrainerPort>;
  readonly counts: () => ReadonlyMap<string, number>;
  /** Simulates the loss of a checkpoint's files. */
  readonly lose: (step: number) => void;
} {
  const saved = new Map<number, ReadonlyMap<string, number>>([[0, new Map()]]);
  let published: ReadonlyMap<string, number> = new Map();
  const open = async (): Promise<TrainerPort> => {
    let weights = new Map<string, number>();
    return {
      repeatsExactly: true,
      checkpoints: async () => [...saved.keys()],
      load: async (step) => {
        weights = new Map(saved.get(step));
      },
      optimize: async (manifest, index, known) => {
        const held = manifest.groups.filter(({ groupId }) => manifest.optimizerSteps[index]?.includes(groupId));
        const outcome = known ?? { isApplied: true };
        for (const { episodeId } of outcome.isApplied ? held.flatMap(({ episodes }) => episodes) : []) {
          weights.set(episodeId, (weights.get(episodeId) ?? 0) + 1);
        }
        return outcome;
      },
      publish: async () => {
        published = new Map(weights);
      },
      save: async (step) => void saved.set(step, new Map(weights)),
      removeCheckpoint: async (step) => void saved.delete(step),
      plan: (groups) => ({ optimizerSteps: [groups.map(({ groupId }) => groupId)] }),
    };
  };
  return { open, counts: () => published, lose: (step) => void saved.delete(step) };
}
