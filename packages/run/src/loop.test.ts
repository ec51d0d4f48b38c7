import { RecoveryBudget } from './recovery-budget.js';
import { Ledger, type LedgerGroup, type Outcome } from '@agentjet/ledger';
import { describe, expect, it } from 'vitest';
import { runLoop, type Driver, type Run } from './loop.js';

/** Creates the state that survives the end of a process: the ledger and the checkpoints. */
function createWorld() {
  const ledger = new Ledger({ now: () => 0 });
  const checkpoints = new Set([0]);
  let numGroups = 0;
  /** Adds a group of one episode that has ended with a reward. */
  const sample = (): LedgerGroup => {
    const groupId = `g${++numGroups}`;
    ledger.openGroup({ groupId, taskId: groupId, numPlaces: 1, draw: numGroups });
    ledger.claim({ groupId, place: 0 }, { episodeId: `${groupId}-r0`, seed: 1 });
    ledger.end(`${groupId}-r0`, { status: 'completed', reward: 1, tokens: 1, seconds: 1 });
    return ledger.group(groupId);
  };
  return { ledger, checkpoints, sample };
}

type World = ReturnType<typeof createWorld>;

/**
 * Creates a process that makes `lastStep` steps of two optimizer steps each, and logs what happens. It crashes in the
 * middle of step `dieAt`.
 */
function createProcess({ ledger, checkpoints, sample }: World, options: Partial<Driver> & { dieAt?: number } = {}) {
  const events: string[] = [];
  const { dieAt, ...changes } = options;
  const driver: Driver = {
    load: async () => Math.max(...checkpoints),
    check: () => undefined,
    decide: async () => ({ groups: [sample()] }),
    plan: (groups) => {
      const ids = groups.map(({ groupId }) => groupId);
      return { optimizerSteps: [ids, ids] };
    },
    evaluate: async (step) => void events.push(`evaluate ${step}`),
    saveEvery: () => 2,
    needsCheckpoint: () => undefined,
    retire: async () => undefined,
    isOver: (step) => step >= 3,
    ...changes,
  };
  const run: Run = {
    ledger,
    policy: 'default',
    line: ledger.line,
    journal: { committed: async () => undefined, synced: async () => undefined },
    trainer: {
      repeatsExactly: false,
      checkpoints: async () => [...checkpoints],
      optimize: async ({ step }, index, known): Promise<Outcome> => {
        if (step === dieAt && index === 1) throw new Error('killed');
        events.push(`optimize ${step}.${index}${known === undefined ? '' : ' again'}`);
        return known ?? { isApplied: index === 0 };
      },
      record: async ({ step }) => void events.push(`record ${step}`),
      publish: async (step) => void events.push(`publish ${step}`),
      save: async (step) => {
        checkpoints.add(step);
        events.push(`save ${step}`);
      },
    },
    weights: { version: -1, phase: 'recovering', doneStep: -1 },
    recovery: new RecoveryBudget(Infinity),
    driver,
    now: () => 0,
  };
  return { run, events };
}

describe('the loop', () => {
  it('decides, makes, records and publishes each step, and evaluates before it saves', async () => {
    const { run, events } = createProcess(createWorld());
    await runLoop(run);
    expect(events.join(', ')).toBe(
      'publish 0, evaluate 0, ' +
        'optimize 1.0, optimize 1.1, record 1, publish 1, evaluate 1, ' +
        'optimize 2.0, optimize 2.1, record 2, publish 2, evaluate 2, save 2, ' +
        'optimize 3.0, optimize 3.1, record 3, publish 3, evaluate 3',
    );
    expect(run.weights).toMatchObject({ version: 3, phase: 'waiting', doneStep: 3 });
  });

  it('makes the steps after the newest checkpoint again, and publishes only the last one', async () => {
    const world = createWorld();
    await expect(runLoop(createProcess(world, { dieAt: 3, saveEvery: () => 0 }).run)).rejects.toThrow('killed');
    const { run, events } = createProcess(world, { saveEvery: () => 0 });
    await runLoop(run);
    expect(events.join(', ')).toBe(
      'optimize 1.0 again, optimize 1.1 again, record 1, evaluate 1, ' +
        'optimize 2.0 again, optimize 2.1 again, record 2, evaluate 2, ' +
        'optimize 3.0 again, optimize 3.1, record 3, publish 3, evaluate 3',
    );
    expect(world.ledger.line).toMatchObject({ step: 3, incarnation: 1 });
    expect(world.ledger.line.outcomes.get(2)?.map((outcome) => outcome?.isApplied)).toEqual([true, false]);
  });

  it('saves a step that is made again, if a checkpoint is due', async () => {
    const world = createWorld();
    await expect(runLoop(createProcess(world, { dieAt: 3, saveEvery: () => 0 }).run)).rejects.toThrow('killed');
    const { run } = createProcess(world, { saveEvery: () => 1 });
    await runLoop(run);
    expect([...world.checkpoints]).toEqual([0, 1, 2, 3]);
  });

  it('makes no step of a batch whose groups were dropped since they were chosen', async () => {
    const world = createWorld();
    const decide = async () => {
      const group = world.sample();
      if (world.ledger.line.step === 1) world.ledger.dropGroup(group.groupId, 'stale');
      return { groups: [group] };
    };
    let looks = 0;
    const { run, events } = createProcess(world, { decide, isOver: () => ++looks > 4 });
    await runLoop(run);
    expect(events.filter((event) => event.startsWith('record'))).toEqual(['record 1']);
  });

  it('writes a checkpoint again whose files are gone, if the driver needs them', async () => {
    const world = createWorld();
    await runLoop(createProcess(world, { saveEvery: () => 3 }).run);
    world.checkpoints.delete(3);
    const { run } = createProcess(world, { needsCheckpoint: (step) => (step === 3 ? 'on_disk' : undefined) });
    await runLoop(run);
    expect(world.checkpoints).toContain(3);
  });

  it('refuses a step whose manifest is gone', async () => {
    const world = createWorld();
    await runLoop(createProcess(world, { saveEvery: () => 0 }).run);
    world.ledger.line.manifests.delete(2);
    await expect(runLoop(createProcess(world).run)).rejects.toMatchObject({ code: 'redo_impossible' });
  });
});
