import { BackboneError, sectionOf, type CommonConfig, formatBytes } from '@agentjet/core';
import type { BackboneEntry } from '@agentjet/inputs';
import { readAvailableMemory, type AvailableMemory } from '../needs/available-memory.js';
import { describePlace, waysOut } from '../needs/describe-need.js';
import type { NeedVerdict } from '../needs/judge-need.js';
import { judgeModel, type JudgedModel, type PreparedModel } from './judge-model.js';

/** One of several models that train in one run. */
export type PolicyInputs = {
  readonly name: string;
  readonly config: CommonConfig;
  readonly inputs: { readonly backbone: BackboneEntry };
};

export type PreparePoliciesOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly onNotice: (message: string) => void;
  /** Replaces the memory of this machine. */
  readonly memory?: AvailableMemory | undefined;
};

/**
 * Prepares the model of each policy, as `prepareModel` does. If each model fits but all together do not, they are
 * refused with BackboneError `not_enough_memory` before any weights are downloaded.
 */
export async function preparePolicies<Policy extends PolicyInputs>(
  policies: readonly Policy[],
  { signal, onNotice, memory = readAvailableMemory() }: PreparePoliciesOptions,
): Promise<readonly (Policy & PreparedModel)[]> {
  const isOnly = policies.length === 1;
  const judged: (Policy & JudgedModel)[] = [];
  for (const policy of policies) {
    const { name, config, inputs } = policy;
    const model = await judgeModel(config, inputs.backbone, {
      emit: (event) => event.type === 'notice' && onNotice(isOnly ? event.message : `${name}: ${event.message}`),
      signal,
      trains: true,
      memory,
      policy: isOnly ? undefined : name,
    });
    judged.push({ ...policy, ...model });
  }
  for (const place of ['host', 'gpu'] as const) checkTogether(place, judged, onNotice);
  const prepared: (Policy & PreparedModel)[] = [];
  for (const policy of judged) prepared.push({ ...policy, ...(await policy.prepare()) });
  return prepared;
}

type Judged = PolicyInputs & JudgedModel;

type Placed = Judged & { readonly verdict: NeedVerdict };

/**
 * Checks whether the models fit together. A model that is too large by itself but may start anyway
 * (`model.memory_check: warn`) is not counted.
 */
function checkTogether(place: 'host' | 'gpu', policies: readonly Judged[], onNotice: (message: string) => void): void {
  const placed = policies.filter((policy): policy is Placed => isAt(place, policy) && policy.verdict?.fits === true);
  const [first] = placed;
  const available = first?.verdict.available;
  if (placed.length < 2 || !available) return;
  const needed = sumBytes(placed);
  if (needed <= available.bytes) return;
  const message = refusalOf(place, placed, { needed, available });
  if (placed.every(({ config }) => config.model.memoryCheck === 'warn')) return onNotice(message);
  throw new BackboneError(
    'not_enough_memory',
    `${message}\nOr, for all policies: model.memory_check=warn, outside of swarm.policies, starts them anyway.`,
  );
}

/**
 * Whether the policy uses this memory. False if another program places its workers (attached workers, Ray), or if vLLM
 * samples on other GPUs.
 */
function isAt(place: 'host' | 'gpu', { verdict, inputs: { backbone }, config }: Judged): boolean {
  if (verdict?.need.place !== place || backbone.name === 'verl') return false;
  const isAttached = sectionOf(config, 'backbones', backbone)['launch'] === 'attach';
  const { name, colocated } = config.rollout;
  return !isAttached && (place === 'host' || name !== 'vllm' || colocated);
}

/** Adds up the memory of the policies. Memory that policies of this process share is counted once. */
function sumBytes(policies: readonly Placed[]): number {
  const shared = policies.map(({ verdict }) =>
    verdict.need.parts.reduce((sum, { sharedBytes = 0 }) => sum + sharedBytes, 0),
  );
  const sum = policies.reduce((total, { verdict }) => total + verdict.neededBytes, 0);
  return sum - shared.reduce((total, bytes) => total + bytes, 0) + Math.max(...shared);
}

type Memory = { readonly needed: number; readonly available: AvailableMemory };

/** Creates the error. Its message says how the largest policy can fit together with the others. */
function refusalOf(place: 'host' | 'gpu', policies: readonly Placed[], { needed, available }: Memory): string {
  const each = policies.toSorted((left, right) => right.verdict.neededBytes - left.verdict.neededBytes);
  const [largest] = each;
  if (largest === undefined) throw new TypeError('Several policies were judged.');
  const left = { ...available, bytes: Math.max(0, available.bytes - needed + largest.verdict.neededBytes) };
  const verdict = largest.judgeIn(left) ?? largest.verdict;
  const ways = waysOut(verdict, largest.config, true).map((way) => `\n  - ${way}`);
  const bytes = each.map(
    ({ name, config, verdict: { neededBytes } }) =>
      `${name} (${config.model.path}) ${formatBytes(neededBytes)} (${Math.ceil(neededBytes)} bytes)`,
  );
  return (
    `To train the models of ${policies.length} policies takes about ${formatBytes(needed)} of memory together (${Math.ceil(needed)} bytes), ` +
    `and ${formatBytes(available.bytes)} (${available.bytes} bytes) are available ${describePlace(place, available)}: ${bytes.join(', ')}. ` +
    `Ways out, for ${largest.name} (keys of swarm.policies.${largest.name}):${ways.join('')}`
  );
}
