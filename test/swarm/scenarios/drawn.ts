import { createRules, FileRetirement, Ledger, recover, StoreWriter, type LedgerRules } from '@agentjet/ledger';
import { MemoryDisk, MemoryStore } from '@agentjet/ledger/testing';
import type { SwarmSettings } from '@agentjet/swarm-server/swarm';
import { Bench, endRequest, when } from './bench.js';
import type { Scenario } from './scenarios.js';

/** Scenarios of `order: drawn`. */

function createBench(rules: Partial<LedgerRules> = {}, settings: Partial<SwarmSettings> = {}): Bench {
  const places = createRules({ cutsDoomed: false, ...rules });
  const batches = { batchSize: 1, oversubscribe: 1, maxStaleness: 0, order: 'drawn' as const };
  return new Bench({ rules: { ...places, ...batches }, numPlaces: 1, ...settings });
}

/**
 * While a step is evaluated, the next batch is not sampled, because its calls would have to wait until the evaluation
 * ends.
 */
export const nextBatchWaits: Scenario = async () => {
  const bench = createBench({}, { testFreq: 1, numEvaluationTasks: 1, evaluationPlaces: 1 });
  const { swarm, life } = await bench.serve();
  const first = await bench.claim(swarm, 'a');
  await bench.settle(swarm.end(first, endRequest(1)));
  await bench.settle(life.wait(1000));
  const evaluated = await bench.claim(swarm, 'b');
  const early = await bench.claim(swarm, 'c');
  await bench.settle(swarm.end(evaluated, endRequest(1)));
  await bench.settle(life.wait(1000));
  const next = await bench.claim(swarm, 'd');
  return [
    ...when(early !== 'none', 'a draw of the next batch was made before the step was evaluated'),
    ...when(next === 'none', 'the next batch was not drawn after the step was evaluated'),
  ];
};

/** If a group can no longer be trained, its lost attempts are not repeated. */
export const doomedPlace: Scenario = async () => {
  const bench = createBench({ failedEpisodePolicy: 'drop_group' }, { numPlaces: 3 });
  const { swarm } = await bench.serve();
  const [failing, lost] = [await bench.claim(swarm, 'a'), await bench.claim(swarm, 'b')];
  await bench.settle(swarm.end(failing, { ...endRequest(null), status: 'failed' }));
  await bench.settle(swarm.end(lost, { ...endRequest(null), status: 'outage' }));
  const last = await bench.claim(swarm, 'c');
  const other = await bench.claim(swarm, 'd');
  return [
    ...when(last === 'none', 'a place of a doomed group was not tried'),
    ...when(other !== 'none', 'a place of a doomed group was tried again'),
  ];
};

/** If no draw of a batch can be trained, a step reports them, and the next batch follows. */
export const idleWindow: Scenario = async () => {
  const bench = createBench({ failedEpisodePolicy: 'drop_group', maxExpiries: 0 });
  const { swarm, life } = await bench.serve();
  const failing = await bench.claim(swarm, 'a');
  await bench.settle(swarm.end(failing, { ...endRequest(null), status: 'failed' }));
  await bench.settle(life.wait(1000));
  const { step, manifests } = swarm.context.ledger.line;
  const idle = manifests.get(1)?.idle?.length ?? 0;
  const next = await bench.claim(swarm, 'b');
  return [
    ...when(step !== 1 || idle !== 1, `the run is at step ${step}, which reports ${idle} idle draws`),
    ...when(next === 'none', 'no batch follows a batch of idle draws'),
  ];
};

/** The records of a dropped group are kept until the step that reports this group is in a checkpoint. */
export const idleGroupKept: Scenario = async () => {
  const disk = new MemoryDisk();
  const store = new MemoryStore(disk);
  const { state, nextSequence, conclusions } = await recover(store);
  const limits = { maxFileBytes: Infinity, maxFileEntries: Infinity };
  const writer = new StoreWriter(store, { nextSequence, ...limits, onFailure: () => {} });
  const ledger = new Ledger({ now: () => 0, state, journal: (records) => writer.append(records) });
  ledger.append(...conclusions);
  ledger.openGroup({ groupId: 'g0', taskId: 't', numPlaces: 1, isDrawn: true });
  ledger.dropGroup('g0', 'group_expired');
  await writer.synced();
  await store.roll();
  const retirement = new FileRetirement({ store, ledger, writer });
  const early = await retirement.retire(5);
  const manifest = ledger.assign([], { idle: [ledger.group('g0')], optimizerSteps: [[]] });
  ledger.conclude(manifest.step, 0, { isApplied: true });
  await writer.synced();
  await store.roll();
  const late = await retirement.retire(5);
  return [
    ...when(early.length > 0, 'the file of a group may go before a step has covered it'),
    ...when(late.length === 0, 'the file of a group stays for ever although its step is in a checkpoint'),
  ];
};

/** The rank of a group is the id that the group has in an ordinary run. */
export const rankOfADraw: Scenario = async () => {
  const bench = createBench({ maxAttempts: 1 });
  const { swarm } = await bench.serve();
  const lost = await bench.claim(swarm, 'a');
  await bench.settle(swarm.end(lost, { ...endRequest(null), status: 'outage' }));
  await bench.claim(swarm, 'b');
  const ranks = [...swarm.context.ledger.state.groups.values()].map(({ rank }) => rank).join();
  return when(ranks !== 'e1-t0,e1-try2-t0', `a draw and its second try have the ranks ${ranks}`);
};
