import path from 'node:path';
import { createRules, LmdbStore, type BatchRules } from '@agentjet/ledger';
import { firstWorkers, type CommonConfig, type ConfigComposition } from '@agentjet/core';
import type { LogEntry, Notice } from './log/log-entry.js';
import type { RecordedEvent } from './model/model-trainer.js';
import { openServedRun, type ServedPolicy, type ServedRun } from './served/served-run.js';
import { findPort } from './http/address.js';
import { createRunConfig } from './http/run-config.js';
import { requireSafe } from './http/require-safe.js';
import type { SwarmServerOptions } from './http/server-options.js';
import { SwarmServer } from './http/swarm-server.js';
import { openSwarmModel } from './model/swarm-model.js';
import { watchRunDisk } from './served/run-disk.js';
import { toCollection } from './swarm/collection-names.js';
import type { SwarmSettings } from './swarm/settings.js';

export type ServeSwarmOptions<Config extends CommonConfig> = Pick<
  SwarmServerOptions,
  'hostname' | 'port' | 'tls' | 'isBehindProxy' | 'app' | 'rewindTo' | 'firstKey' | 'begun' | 'onFatal' | 'onLog'
> & {
  readonly config: Config;
  readonly composition: ConfigComposition<Config>;
  /**
   * The run folder to resume. Default: the experiment's newest run if that run has a ledger, and otherwise a new run.
   */
  readonly run?: string | undefined;
  readonly isNew?: boolean;
  /** Takes over the ledger from a server that may still be alive. */
  readonly takeOver?: boolean;
  /**
   * Aborted when the user stops the server. The server then abandons a model that is being opened. You still have to
   * close the server.
   */
  readonly signal?: AbortSignal;
  /**
   * Reads the run's output while it is served, for example for trackers: `loadRunFollower` of `@agentjet/trackers`
   * makes one.
   */
  readonly follow?: (files: ServedFiles) => RunFollower | Promise<RunFollower>;
  readonly onNotice: Notice;
};

/** The folders and the configuration of a run, for programs that follow its figures. */
export type ServedFiles = {
  readonly config: CommonConfig;
  readonly runDir: string;
  /** The policies of the run, each with the folder of its metrics. By default there is one, in the run folder. */
  readonly policies: readonly (Pick<ServedPolicy, 'name' | 'config' | 'folder'> & { readonly dir: string })[];
  readonly onNotice: (message: string) => void;
};

export type RunFollower = {
  /** Called after the policy has recorded a step or an evaluation, or has saved a checkpoint. Returns at once. */
  readonly wake: (policy: string, event: RecordedEvent) => void;
  /** Called after the last line. Never rejects. */
  readonly close: () => Promise<void>;
  /**
   * Called instead of `close` if another server has taken the run over, because that server also follows the run. Never
   * rejects.
   */
  readonly leave: () => Promise<void>;
};

export type ServedSwarm = {
  readonly server: SwarmServer;
  readonly runDir: string;
  readonly isResumed: boolean;
  readonly close: () => Promise<void>;
};

/**
 * Serves the model of a configuration to a swarm. Implements `ajet swarm serve`.
 * @throws ConfigError `cannot_listen` if another program has the port
 */
export async function serveSwarm<Config extends CommonConfig>(
  options: ServeSwarmOptions<Config>,
): Promise<ServedSwarm> {
  const { config, composition, run: dir, isNew, takeOver, signal, follow, onNotice, onLog, ...listening } = options;
  const { hostname = '127.0.0.1', port = 0 } = listening;
  requireSafe(listening);
  await findPort({ hostname, port }); // checked before a run and its key are made
  const run = await openServedRun({
    config,
    composition,
    run: dir,
    signal,
    onNotice,
    ...(isNew !== undefined && { isNew }),
    ...(takeOver !== undefined && { takesOver: takeOver }),
  });
  const name = run.folder.dir.split(path.sep).slice(-2).join('/');
  const samplesWide = run.policies.some((policy) => policy.samplesWide);
  let takesOver = takeOver ?? false; // only at the start, because a server must not take back a store that it lost
  let server: SwarmServer | undefined;
  let follower: RunFollower | undefined;
  const onRecorded = (policy: string, event: RecordedEvent): void => follower?.wake(policy, event);
  try {
    server = await SwarmServer.start({
      ...listening,
      name,
      ...(onLog !== undefined && { onLog: (entry: LogEntry) => onLog({ run: name, ...entry }) }),
      openStore: async (onLost) => {
        const store = await LmdbStore.open(run.storeDir, { takeOver: takesOver, onLost });
        takesOver = false;
        return store;
      },
      openModel: (records, onFailure) => openSwarmModel(run, records, { onFailure, onRecorded, onNotice }),
      runDisk: watchRunDisk(run.folder.dir),
      settings: toSwarmSettings(run.config, samplesWide),
      policySettings: Object.fromEntries(
        run.policies.map((policy) => [policy.name, toSwarmSettings(policy.config, samplesWide)]),
      ),
      app: {
        ...listening.app,
        config: createRunConfig(run.folder.dir, config, composition),
        checkpoints: toCheckpointDirs(run),
        disks: { ledger: run.storeDir, run: run.folder.dir },
      },
      onNotice,
    });
    // The follower starts after the model is open, because the folder of a run is removed if its model cannot be
    // opened.
    follower = await follow?.(toServedFiles(run, { config, onNotice }));
    return { server, runDir: run.folder.dir, isResumed: run.isResumed, close: toClose({ server, follower, run }) };
  } catch (error) {
    await server?.close();
    await run.close();
    throw error;
  }
}

type OpenedParts = {
  readonly server: SwarmServer;
  readonly follower: RunFollower | undefined;
  readonly run: Pick<ServedRun, 'close'>;
};

function toClose({ server, follower, run }: OpenedParts): () => Promise<void> {
  let isDeposed = false;
  void server.deposed.then(() => (isDeposed = true));
  return async () => {
    await server.close();
    await (isDeposed ? follower?.leave() : follower?.close());
    await run.close();
  };
}

const toServedFiles = (
  { folder, policies }: ServedRun,
  parts: Pick<ServedFiles, 'config' | 'onNotice'>,
): ServedFiles => ({
  ...parts,
  runDir: folder.dir,
  policies: policies.map(({ name, config, folder: own }) => ({ name, config, folder: own, dir: own.dir })),
});

/** Returns the folders of checkpoints by policy. The only policy of a run has the empty name. */
const toCheckpointDirs = ({ policies }: ServedRun): Readonly<Record<string, string>> =>
  Object.fromEntries(
    policies.map(({ name, folder }) => [policies.length === 1 ? '' : name, folder.checkpoints.dir] as const),
  );

/**
 * The extra time in which clients can end their late episodes themselves, because they can report more about the
 * failure. After that, the server ends these episodes.
 */
const clientGraceMs = 10_000;

/** The swarm's settings, from the keys of the YAML file. `samplesWide` is the capability of its backbones. */
function toSwarmSettings(config: CommonConfig, samplesWide: boolean): SwarmSettings {
  const { rollout, trainerCommon, data } = config;
  const { failedEpisodePolicy, maxAttempts, minGroupShare } = rollout;
  const versionsPerStep = trainerCommon.miniBatchNum * trainerCommon.ppoEpochs;
  return {
    rules: {
      ...createRules({
        failedEpisodePolicy,
        maxAttempts,
        minGroupShare,
        groupPatienceMs: 1000 * rollout.groupPatience,
        scorePatienceMs: 1000 * (rollout.scorePatience ?? 1800),
        cutsDoomed: config.swarm.order === 'pool',
      }),
      batchSize: data.trainBatchSize,
      oversubscribe: rollout.oversubscribe,
      maxStaleness: Math.floor(trainerCommon.maxStaleness / versionsPerStep),
      ...toShareRules(config.swarm),
      order: config.swarm.order,
    },
    numPlaces: rollout.numRepeat,
    capacity: firstWorkers(rollout, { samplesWide }),
    tickMs: 500,
    leaseMs: 120_000,
    episodeTimeoutMs: 1000 * rollout.episodeTimeout + clientGraceMs,
    syncsCalls: config.swarm.sync === 'calls',
    aliveMs: 2500,
    stragglerPatienceMs: rollout.stragglerPatience === null ? null : 1000 * rollout.stragglerPatience,
    testFreq: trainerCommon.testFreq,
    numEvaluationTasks: Infinity,
    evaluatesFirst: trainerCommon.valBeforeTrain,
    recoveryBudgetMs: 1000 * config.swarm.recoveryBudget,
    evaluationPlaces: trainerCommon.valPassN + trainerCommon.valSampled,
    evaluationPatienceMs: 1000 * trainerCommon.evaluationPatience,
    saveFreq: trainerCommon.saveFreq,
    keptCheckpoints: trainerCommon.maxCheckpoints === 0 ? Infinity : trainerCommon.maxCheckpoints,
    maxSteps: trainerCommon.totalTrainingSteps ?? Infinity,
    ...(trainerCommon.maxEmptySteps !== null && { maxEmptySteps: trainerCommon.maxEmptySteps }),
    totalEpochs: trainerCommon.totalTrainingSteps === null ? trainerCommon.totalEpochs : Infinity,
    sharePatienceMs: 1000 * config.swarm.sharePatience,
    shuffle: config.taskReader.shuffle,
    seed: trainerCommon.seed,
    maxFileBytes: 256 * 2 ** 20,
    maxFileEntries: 1_000_000,
  };
}

function toShareRules({
  shares,
  shareMode,
  sampleCollection,
}: CommonConfig['swarm']): Pick<BatchRules, 'parts' | 'isElastic' | 'collection'> {
  const sum = shares.reduce((total, { part }) => total + part, 0);
  const collection = toCollection(sampleCollection);
  return {
    ...(shares.length > 0 && { parts: Object.fromEntries(shares.map(({ name, part }) => [name, part / sum])) }),
    isElastic: shareMode === 'elastic',
    ...(collection !== undefined && { collection }),
  };
}
