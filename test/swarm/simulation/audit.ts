import {
  defaultPolicy,
  isClosed,
  isOf,
  lineOf,
  partsAt,
  shareOf,
  type GroupsByShare,
  type LedgerGroup,
  type LedgerState,
  type ManifestRecord,
} from '@agentjet/ledger';
import { firstParts, type RunSettings } from './settings.js';

/**
 * Records what clients learned from answers, and checks whether the server ever contradicts it. What clients learned is
 * never read from the server's own state.
 */
export class Audit {
  readonly violations = new Set<string>();
  /** Maps an episode to the body of the end that got a receipt. */
  readonly receipts = new Map<string, string>();
  /** Maps an episode to the calls whose answer its agent has seen. */
  readonly answered = new Map<string, Set<string>>();
  /** Maps a group to the newest rewards that were acknowledged. */
  readonly scores = new Map<string, number>();
  readonly configs: { readonly revision: number; readonly fromStep: number }[] = [];
  readonly #served = new Map<string, number>();
  /** The part of each share's number of groups that rounding removed, after a step of a policy. */
  readonly #owed = new Map<string, GroupsByShare>();
  /** With `order: drawn`, the first draw that no step of the policy covers yet. */
  readonly #windows = new Map<string, number>();
  /** The contents of the first manifest that named a group. */
  readonly #taken = new Map<string, Taken>();

  require(condition: boolean, violation: string): void {
    if (!condition) this.violations.add(violation);
  }

  /** Checks that a version always means the same weights within one incarnation of a policy. */
  served({ policy, version, incarnation }: Served, hash: number | undefined): void {
    this.require(hash !== undefined, `a call of version ${version} was answered without weights`);
    const key = `${policy} ${incarnation}:${version}`;
    const known = this.#served.get(key);
    this.require(known === undefined || known === hash, `version ${key} means two sets of weights`);
    if (hash !== undefined) this.#served.set(key, hash);
  }

  /** Checks a manifest at the moment when it is decided. */
  manifest(state: LedgerState, manifest: ManifestRecord, { run, rules }: ManifestRules): void {
    const { policy = defaultPolicy } = manifest;
    for (const { groupId, episodes } of manifest.groups) {
      this.#sameForAll(state, groupId, { policy, step: manifest.step, episodes: JSON.stringify(episodes) });
      const group = state.groups.get(groupId);
      if (group === undefined) continue;
      this.require(isClosed(state, group, rules), `${groupId} was trained with open places`);
      const found = episodes.flatMap(({ episodeId }) => state.episodes.get(episodeId) ?? []);
      const revisions = new Set(found.map(({ rewardRevision }) => rewardRevision));
      this.require(revisions.size <= 1, `${groupId} was trained with rewards of two revisions`);
      const put = this.scores.get(groupId);
      const isOld = put !== undefined && Number(group.scoreRevision ?? 0) < put;
      this.require(!isOld, `an acknowledged rescoring of ${groupId} was forgotten`);
      for (const episode of found) {
        const requests = new Set(episode.calls.map(({ requestId }) => requestId));
        for (const request of this.answered.get(episode.episodeId) ?? []) {
          this.require(requests.has(request), `an answered call of ${episode.episodeId} was lost`);
        }
        const own = episode.calls.filter((call) => isOf(call, policy));
        const oldest = Math.max(0, ...own.map(({ version }) => manifest.step - 1 - version));
        this.require(oldest <= run.maxStaleness + mostSurplus(run), `${groupId} was trained at staleness ${oldest}`);
      }
    }
    this.#order(state, manifest);
    if (run.order === 'drawn') this.#window(state, manifest, rules);
    if (run.shares !== undefined) this.#shares(state, manifest, { run, rules });
    for (const { revision, fromStep } of policy === run.policies[0] ? this.configs : []) {
      const isKept = manifest.step < fromStep || manifest.configRevision >= revision;
      this.require(isKept, `configuration ${revision} was promised for step ${fromStep}`);
    }
  }

  /** Checks that the groups of a batch are in the order of their draws, whichever of them began first. */
  #order(state: LedgerState, { step, groups }: ManifestRecord): void {
    const found = groups.flatMap(({ groupId }) => state.groups.get(groupId) ?? []);
    const isInOrder = found.every((group, at) => {
      const before = found[at - 1];
      return before === undefined || shareOf(before) !== shareOf(group) || before.draw < group.draw;
    });
    this.require(isInOrder, `step ${step} has its groups in another order than that of their draws`);
  }

  /** Checks that a step covers `batchSize` draws in their order, each once. The last steps of a run may cover fewer. */
  #window(
    state: LedgerState,
    { step, groups, idle = [], policy = defaultPolicy }: ManifestRecord,
    rules: BatchSize,
  ): void {
    const from = this.#windows.get(`${policy} ${step - 1}`) ?? 0;
    const draws = [...new Set([...groups, ...idle].map(({ draw = -1 }) => draw))].sort((a, b) => a - b);
    this.#windows.set(`${policy} ${step}`, from + draws.length);
    const isInOrder = draws.every((draw, index) => draw === from + index);
    this.require(isInOrder, `step ${step} covers the draws ${draws.join()} after ${from - 1}`);
    const isTwice = new Set(groups.map(({ draw }) => draw)).size < groups.length;
    this.require(!isTwice, `step ${step} trains a draw twice`);
    const isWhole = draws.length === rules.batchSize || state.operation.isDraining;
    this.require(isWhole, `step ${step} covers ${draws.length} draws, not ${rules.batchSize}`);
    const cut = idle.flatMap(({ groupId }) => state.groups.get(groupId) ?? []).filter(isCut);
    this.require(cut.length === 0, `${cut[0]?.groupId} is doomed, and was not tried to its end`);
  }

  /**
   * Checks that a full batch differs from the configured parts by less than one group, and that rounding errors are
   * carried over to later batches, also over restarts.
   */
  #shares(state: LedgerState, manifest: ManifestRecord, { run, rules }: ManifestRules): void {
    const { step, groups, shares, policy = defaultPolicy } = manifest;
    const parts = partsAt(state, firstParts, step, policy);
    const before = this.#owed.get(`${policy} ${step - 1}`) ?? {};
    const found = groups.map(({ groupId }) => state.groups.get(groupId));
    const owed: Record<string, number> = {};
    for (const [share, part] of Object.entries(parts)) {
      const error =
        part * groups.length - found.filter((group) => group !== undefined && shareOf(group) === share).length;
      const isWhole = groups.length === rules.batchSize && !state.operation.isDraining;
      if (!isWhole || run.shares === 'elastic')
        owed[share] = shares === undefined ? Number.NaN : (shares.carry[share] ?? 0);
      else {
        this.require(Math.abs(error) < 1, `step ${step} is ${error} groups off the part of ${share}`);
        owed[share] = (before[share] ?? 0) + error;
      }
      const recorded = shares === undefined ? Number.NaN : (shares.carry[share] ?? 0);
      this.require(
        Math.abs(recorded - (owed[share] ?? 0)) < 1e-6,
        `step ${step} owes ${share} ${recorded}, not ${owed[share]}`,
      );
      this.require(Math.abs(recorded) < 2, `${share} is ${recorded} groups off its part after step ${step}`);
    }
    this.#owed.set(`${policy} ${step}`, owed);
  }

  /**
   * Checks that a group does not change after one policy has taken it: its places are closed and its rewards stay, also
   * for the other policies. If a power cut removed a manifest before it was synced, the manifest has had no effect, and
   * the group may have been rescored since. A new manifest of the same step then replaces it, because the ledger
   * accepts only one.
   */
  #sameForAll(state: LedgerState, groupId: string, taken: Taken): void {
    const known = this.#taken.get(groupId);
    const isReplaced = known?.policy === taken.policy && known.step === taken.step;
    if (known !== undefined && !isReplaced && lineOf(state, known.policy).manifests.has(known.step))
      this.require(known.episodes === taken.episodes, `${groupId} was another group for the next policy`);
    else this.#taken.set(groupId, taken);
  }
}

type Taken = { readonly policy: string; readonly step: number; readonly episodes: string };
type Served = { readonly policy: string; readonly version: number; readonly incarnation: number };

/**
 * Returns by how many groups a policy may exceed the others. If two policies lack groups of different shares, one of
 * them gets one group too many.
 */
const mostSurplus = ({ policies, shares }: RunSettings): number =>
  policies.length > 1 && shares !== undefined ? 1 : 0;

type BatchSize = { readonly batchSize: number };

type ManifestRules = {
  readonly run: RunSettings;
  readonly rules: Parameters<typeof isClosed>[2] & BatchSize;
};

/** True if the group expired although one of its places was neither tried nor given up. */
const isCut = ({ fate, places }: LedgerGroup): boolean =>
  fate === 'group_expired' && places.some(({ attempts, isGivenUp }) => attempts === 0 && !isGivenUp);
