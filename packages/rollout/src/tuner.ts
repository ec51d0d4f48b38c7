import { ConfigError, findNearestKey, type ChatModel } from '@agentjet/core';
import type { AgentIdentity } from '@agentjet/context-tracker';
import type { EndpointHost, ModelOptions, Tuner } from './contract.js';
import { watchDebugModel } from './outage/debug-model-errors.js';
import { watchCalls } from './outage/watch-calls.js';
import { resolveTrainableTargets } from './workflow.js';

export type TunerOptions = {
  readonly episodeId: string;
  /** Aborts when the episode ends, times out or is stopped. */
  readonly signal: AbortSignal;
  /** Undefined means that every target learns. An empty list throws ConfigError. */
  readonly trainableTargets?: readonly string[] | undefined;
  /** Creates the tuned model of one agent. */
  readonly createModel: (agent: AgentIdentity) => ChatModel;
  readonly endpointHost?: EndpointHost | undefined;
  /** Default: 1. */
  readonly attempt?: number | undefined;
  /** Called with every agent that asks for a model, whether it learns or not. */
  readonly onAgent?: (agent: AgentIdentity) => void;
  /**
   * Called when the framework of an agent that learns begins a call. If the call fails, the returned function is called
   * with the error.
   */
  readonly watchCall?: (agentName: string) => (error: unknown) => void;
  /** Called with the model of every agent that does not learn. */
  readonly onDebugModel?: (model: unknown, agentName: string) => void;
  /** Runs a call that arrives from outside as part of the episode. */
  readonly within?: <T>(work: () => T) => T;
  readonly openEnvironment?: Tuner['openEnvironment'];
  readonly span?: Tuner['span'];
  readonly reward?: Tuner['reward'];
};

/** Creates the tuner of one episode. Only this function decides which model an agent gets. */
export function createTuner(options: TunerOptions): Tuner {
  const targets = resolveTrainableTargets(options.trainableTargets);
  const isTrainable = (targetTag: string): boolean => targets === undefined || targets.includes(targetTag);
  /** Names of agents that were given their debug model. */
  const unlearning = new Set<string | undefined>();

  const selectModel = <M>(
    wanted: ModelOptions<M>,
    toNative: (model: ChatModel) => M,
    callMethods: readonly string[] = [],
  ): M => {
    const agent = toIdentity(wanted);
    options.onAgent?.(agent);
    if (isTrainable(agent.targetTag)) {
      const model = options.createModel(agent);
      const native = toNative(model);
      const { watchCall } = options;
      // Counts calls that the framework refuses before it asks the model. The model itself counts its own errors.
      if (watchCall !== undefined && native !== model)
        watchCalls(native, callMethods, { begin: () => watchCall(agent.agentName) });
      return native;
    }
    if (wanted.debugModel === undefined || wanted.debugModel === null) {
      throw missingModel(agent, targets ?? []);
    }
    unlearning.add(agent.agentName);
    options.onDebugModel?.(wanted.debugModel, agent.agentName);
    watchDebugModel(wanted.debugModel, agent.agentName, callMethods);
    return wanted.debugModel;
  };

  return {
    episodeId: options.episodeId,
    signal: options.signal,
    attempt: options.attempt ?? 1,
    isTrainable,
    selectModel,
    openEnvironment: options.openEnvironment ?? refuseEnvironment,
    span: options.span ?? ((_name, work) => work()),
    reward: (value, to) => {
      if (!unlearning.has(to?.agent)) options.reward?.(value, to);
    },
    asOpenAIEndpoint: (wanted) => {
      const model = selectModel(wanted, (tuned) => tuned, ['generate']);
      if (options.endpointHost === undefined) {
        throw new ConfigError(
          'no_endpoint',
          `Agent "${wanted.agentName}" asks for an OpenAI endpoint, but this run has no endpoint host. Pass endpointHost, or run it as an AgentJetJob or with ajet.`,
        );
      }
      const { within = (work) => work() } = options;
      const generate: ChatModel['generate'] = (request, callOptions) =>
        within(() => model.generate(request, callOptions));
      return options.endpointHost.open({
        episodeId: options.episodeId,
        agentName: wanted.agentName,
        model: unlearning.has(wanted.agentName) ? { ...model, generate } : model,
        signal: options.signal,
        onRefused: (error) => {
          if (!unlearning.has(wanted.agentName)) options.watchCall?.(wanted.agentName)(error);
        },
      });
    },
  };
}

async function refuseEnvironment(): Promise<never> {
  throw new ConfigError(
    'no_environment',
    'This tuner does not belong to an episode of a run, so it has no environment. Open the environment itself: environment.open(task, options).',
  );
}

/** Checks the arguments for callers without types. */
function toIdentity(wanted: ModelOptions<unknown> | undefined): AgentIdentity {
  const { agentName, targetTag }: { readonly agentName?: unknown; readonly targetTag?: unknown } = wanted ?? {};
  if (typeof agentName !== 'string' || agentName === '') {
    throw new ConfigError(
      'no_agent_name',
      `asModel() got agentName ${JSON.stringify(agentName)}. Pass the agent's name, a non-empty string.`,
    );
  }
  refuseUnknown(wanted ?? {}, agentName);
  if (targetTag === undefined || targetTag === null) return { agentName, targetTag: agentName };
  if (typeof targetTag !== 'string' || targetTag === '') {
    throw new ConfigError(
      'bad_target_tag',
      `asModel() got targetTag ${JSON.stringify(targetTag)} for agent "${agentName}". Pass a non-empty string, or leave it out to use the agent's name.`,
    );
  }
  return { agentName, targetTag };
}

const optionNames = new Map([
  ['agent_name', 'agentName'],
  ['target_tag', 'targetTag'],
  ['debug_model', 'debugModel'],
]);

/** Refuses options that would be lost, such as `target_tag` or `temperature`. */
function refuseUnknown(wanted: object, agentName: string): void {
  const known: readonly string[] = [...optionNames.values()];
  const unknown = Object.keys(wanted).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const nearest = optionNames.get(findNearestKey(unknown, [...optionNames.keys()]) ?? '');
  const repair =
    nearest === undefined
      ? 'Remove it. Set the sampling of all calls under `rollout` in the configuration, or that of one call in the call.'
      : `Did you mean ${nearest}?`;
  throw new ConfigError(
    'unknown_option',
    `asModel() got the option "${unknown}" for agent "${agentName}", which it does not have. ${repair}`,
  );
}

function missingModel(agent: AgentIdentity, targets: readonly string[]): ConfigError {
  const { agentName, targetTag } = agent;
  return new ConfigError(
    'no_debug_model',
    `No model for agent "${agentName}": its target "${targetTag}" is not in trainable_targets (${targets.join(', ')}) and it has no debug model. ` +
      `Pass debugModel to asModel(), or add "${targetTag}" to trainable_targets.`,
  );
}
