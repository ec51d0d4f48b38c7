import type { RecordIndex, Store } from '@agentjet/ledger';
import type { Log, Notice } from '../log/log-entry.js';
import type { SwarmModel } from '../model/swarm-model.js';
import type { SwarmSettings } from '../swarm/settings.js';
import type { SwarmOptions } from '../swarm/swarm-options.js';
import type { StoredKey } from './keys.js';
import type { SwarmAppOptions } from './swarm-app.js';

export type SwarmServerOptions = Pick<SwarmOptions, 'tasks' | 'access' | 'rewindTo' | 'runDisk' | 'name'> & {
  /**
   * `onLost` is called if a heartbeat cannot be written, because another server has the store or its disk fails.
   */
  readonly openStore: (onLost: (error: unknown) => void) => Promise<Store>;
  /** Opens a trainer each time the swarm is opened. The trainer then loads the newest checkpoint. */
  readonly openTrainer?: () => Promise<SwarmOptions['trainer']>;
  /**
   * Opens a model, instead of a trainer, each time the swarm is opened. Agents call the model under `/e/<episode>/`.
   */
  readonly openModel?: (
    records: RecordIndex,
    onFailure: (error: unknown, policy: string) => void,
  ) => Promise<SwarmModel>;
  readonly settings: SwarmSettings;
  /** The time that a server waits for a running step after another server took its store over. Default: 2 seconds. */
  readonly stepPatienceMs?: number;
  /** The settings of policies that differ from `settings`. */
  readonly policySettings?: Readonly<Record<string, SwarmSettings>>;
  /** The commander's key of a new run. Default: a new key that is shown once. */
  readonly firstKey?: StoredKey | undefined;
  /** The operator who began the run from another machine. The audit records this once. */
  readonly begun?: Begun | undefined;
  /** Default: the loopback address. */
  readonly hostname?: string;
  readonly port?: number;
  /** The files of a certificate and of its key. */
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Whether a proxy in front of the server uses TLS. */
  readonly isBehindProxy?: boolean;
  readonly app?: SwarmAppOptions;
  readonly onNotice?: Notice;
  /** Called with a line for each failure, each lost episode, each order and each step. */
  readonly onLog?: Log;
  /**
   * Called if a model, a trainer or the store fails. The server then opens nothing again, and you have to close it.
   * Default: the server opens the failed part again.
   */
  readonly onFatal?: ((error: unknown) => void) | undefined;
};

/** Records who began a run, when, and the name of the run. */
export type Begun = {
  /** Time in ISO 8601. */
  readonly at: string;
  /** Name of the key. */
  readonly by: string;
  readonly run: string;
};
