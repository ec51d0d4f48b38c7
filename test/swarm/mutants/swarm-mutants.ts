/** One planted bug: edits of the sources. Each `original` occurs in its file exactly once; otherwise planting fails. */
export type SwarmMutant = { readonly name: string; readonly edits: readonly Edit[] };

export type Edit = {
  /** The path from the root of the repository. */
  readonly file: string;
  readonly original: string;
  readonly mutated: string;
};

const ledger = 'packages/ledger/src/ledger.ts';
const writer = 'packages/ledger/src/store/store-writer.ts';
const recover = 'packages/ledger/src/store/recover.ts';
const retention = 'packages/ledger/src/store/retention.ts';
const memoryStore = 'packages/ledger/src/testing/memory-store.ts';
const episodes = 'packages/swarm-server/src/swarm/episode-routes.ts';
const operator = 'packages/swarm-server/src/swarm/operator-routes.ts';
const swarm = 'packages/swarm-server/src/swarm/swarm.ts';
const places = 'packages/swarm-server/src/swarm/find-place.ts';
const batches = 'packages/ledger/src/batches.ts';
const loop = 'packages/run/src/loop.ts';
const policy = 'packages/swarm-server/src/swarm/train-policy.ts';
const policies = 'packages/ledger/src/policies.ts';
const window = 'packages/ledger/src/window.ts';
const seats = 'packages/ledger/src/places.ts';
const index = 'packages/ledger/src/attempt-index.ts';

const edit = (file: string, original: string, mutated: string): Edit => ({ file, original, mutated });

/** The ways in which a swarm could lose an episode, train it twice or contradict itself, each planted on purpose. */
export const swarmMutants: readonly SwarmMutant[] = [
  {
    name: 'receipt before sync',
    edits: [
      edit(episodes, 'await writer.synced();\n    const accepted', 'await writer.committed();\n    const accepted'),
    ],
  },
  {
    name: 'answer before commit',
    edits: [
      edit(episodes, 'await writer.committed();\n    return content;', 'return content;'),
      edit(episodes, 'await writer.committed();\n    return { episodes: episodes', 'return { episodes: episodes'),
    ],
  },
  {
    name: 'manifest after the step',
    edits: [
      edit(
        loop,
        `    const manifest = ledger.assign(ready, { ...plan, ...more });
    await journal.synced();
    await trainStep(run, manifest, secondsSampling);
`,
        `    const { trainer } = run;
    const { optimizerSteps } = plan;
    const members = ledger.toManifestGroups(ready);
    const step = line.step + 1;
    const early = { kind: 'manifest' as const, step, configRevision, groups: members, optimizerSteps };
    const outcomes = [];
    for (const index of optimizerSteps.keys()) outcomes.push(await trainer.optimize(early, index, undefined));
    if (step % driver.saveEvery() === 0) await trainer.save(step);
    ledger.assign(ready, { ...plan, ...more });
    for (const [index, outcome] of outcomes.entries()) ledger.conclude(step, index, { ...outcome, policy });
    await journal.synced();
`,
      ),
    ],
  },
  {
    name: 'outcome not synced',
    edits: [
      edit(
        loop,
        'ledger.conclude(step, index, { ...outcome, policy });\n    await journal.synced();',
        'ledger.conclude(step, index, { ...outcome, policy });',
      ),
    ],
  },
  {
    name: 'checkpoint before the outcome',
    edits: [
      edit(
        loop,
        '    if (known[index] === undefined) ledger.conclude(',
        `    const isLast = index === manifest.optimizerSteps.length - 1;
    if (known[index] === undefined && isLast && step % run.driver.saveEvery() === 0) await trainer.save(step);
    if (known[index] === undefined) ledger.conclude(`,
      ),
    ],
  },
  {
    name: 'no redo',
    edits: [edit(loop, 'await trainStep(run, manifestOf(line, step + 1), 0);', 'void manifestOf;')],
  },
  {
    name: 'record and state apart',
    edits: [
      edit(
        ledger,
        '    this.#journal(records);',
        '    Promise.resolve().then(() => Promise.resolve()).then(() => this.#journal(records));',
      ),
    ],
  },
  { name: 'recovery not synced', edits: [edit(recover, '  await store.secure();\n', '')] },
  {
    name: 'restarted machine not noticed',
    edits: [edit(recover, 'if (state.bootId === bootId) return [];', 'if (bootId !== undefined) return [];')],
  },
  {
    name: 'drop without a record',
    edits: [
      edit(
        ledger,
        "if (record.kind === 'drop') this.drop(record.episodeId, record.reason, record);",
        "if (record.kind === 'drop') applyRecord(this.state, record);",
      ),
    ],
  },
  {
    name: 'late end accepted',
    edits: [
      edit(episodes, "if (episode.end === undefined && episode.state === 'dropped') {", 'if (episode.end === null) {'),
      edit(
        ledger,
        'const { groupId, place } = this.#running(episodeId);',
        'const { groupId, place } = this.episode(episodeId);',
      ),
    ],
  },
  {
    name: 'end not idempotent',
    edits: [
      edit(episodes, 'if (episode.end === undefined) await this.#accept(', 'await this.#accept('),
      edit(ledger, 'if (episode.end !== undefined) return requireSameEnd(episode, bodyHash);', ''),
    ],
  },
  {
    name: 'retried call recorded twice',
    edits: [
      edit(
        episodes,
        'const isRecorded = episode.calls.some((call) => call.requestId === requestId);',
        'const isRecorded = requestId === name;',
      ),
    ],
  },
  {
    name: 'call after the end',
    edits: [
      edit(
        episodes,
        "        if (episode.state !== 'running') throw this.#goneError(episodeId);\n        ledger.recordCall",
        '        ledger.recordCall',
      ),
      edit(
        ledger,
        'groupId: this.#running(episodeId).groupId, episodeId, ...call });',
        'groupId: this.episode(episodeId).groupId, episodeId, ...call });',
      ),
    ],
  },
  {
    name: 'second manifest accepted',
    edits: [
      edit(
        loop,
        'const ready = groups.filter((group) => groupPart(group, policy).fate === undefined);',
        "const ready = [...groups, ...[...ledger.state.groups.values()].filter(({ fate }) => fate === 'trained').slice(0, 1)];",
      ),
    ],
  },
  {
    name: 'half a group rescored',
    edits: [
      edit(
        ledger,
        'const isWhole = isSampled(this.state, group, this.rules) && isForExactly(ids, scores);',
        'const isWhole = scores.length > 0 || isSampled(this.state, group, this.rules) || isForExactly(ids, scores);',
      ),
    ],
  },
  {
    name: 'retention too early',
    edits: [
      edit(loop, '  await trainer.save(step);\n', '  await driver.retire();\n  await trainer.save(step);\n'),
      edit(
        policy,
        '    retire: () => retire(context),',
        '    retire: () => {\n      context.oldestStep = line.step;\n      return context.retirement.retire(() => line.step);\n    },',
      ),
    ],
  },
  {
    name: 'place refilled after assignment',
    edits: [
      edit(
        ledger,
        'filter((group) => group.fate === undefined && passes(group));',
        'filter((group) => passes(group));',
      ),
      edit(
        'packages/ledger/src/attempt-index.ts',
        'group.fate === undefined && places?.isOpen === true',
        'places?.isOpen === true',
      ),
    ],
  },
  {
    name: 'continues after a failed commit',
    edits: [edit(writer, 'await this.#store.commit(batch);', 'await this.#store.commit(batch).catch(() => {});')],
  },
  {
    name: 'refused step redone',
    edits: [
      edit(
        loop,
        'await trainer.optimize(manifest, index, known[index]);',
        'await trainer.optimize(manifest, index, undefined);',
      ),
    ],
  },
  {
    name: 'two owners',
    edits: [
      edit(
        memoryStore,
        "if (!this.#isOwner()) throw new StoreError('not_owner', 'Another server owns the store.');",
        '',
      ),
    ],
  },
  { name: 'failed sync believed', edits: [edit(recover, 'await store.secure();', 'await store.sync();')] },
  {
    name: 'boot id before the drops',
    edits: [
      edit(
        swarm,
        '    if (conclusions.length > 0) ledger.append(...conclusions);\n',
        `    if (conclusions.length > 0) {
      ledger.append(...conclusions.slice(-1));
      await writer.committed();
      await new Promise<void>((resolve) => host.after(100, resolve));
      ledger.append(...conclusions.slice(0, -1));
    }
`,
      ),
    ],
  },
  {
    name: 'ids counted',
    edits: [
      edit(
        episodes,
        'const episodeId = `e${randomName(host.random)}`;',
        "const episodeId = `e${ledger.state.episodes.size + [...ledger.state.finished.episodes()].length}${host.random() < 0 ? randomName(host.random) : ''}`;",
      ),
    ],
  },
  {
    name: 'finished record without its draw',
    edits: [
      edit(
        'packages/ledger/src/fold.ts',
        "  if (record.purpose === 'train') setDraw(state, record, record.returns ? 'returned' : 'over', record.fate);",
        '',
      ),
    ],
  },
  {
    name: 'roll without owner',
    edits: [edit(memoryStore, '  #begin(): void {\n    this.#requireOwner();\n', '  #begin(): void {\n')],
  },
  {
    name: 'retention reads closed literally',
    edits: [
      edit(
        retention,
        "if (group.fate === undefined || group.fate === 'assigned') return false;",
        "if (group.fate === undefined) return group.places.every(({ episodeId }) => episodeId !== undefined);\n  if (group.fate === 'assigned') return false;",
      ),
    ],
  },
  {
    name: 'retention forgets whom a manifest names',
    edits: [
      edit(
        retention,
        "if (record.kind === 'manifest') return coveredBy(record);",
        "if (record.kind === 'manifest') return [];",
      ),
      edit(
        retention,
        'return manifest === undefined ? [] : coveredBy(manifest);',
        'return manifest === undefined ? [record.kind] : [];',
      ),
    ],
  },
  {
    name: 'accepted ends answer 410',
    edits: [
      edit(
        episodes,
        "if (episode.end === undefined && episode.state === 'dropped') {",
        "if (episode.state === 'dropped') {",
      ),
    ],
  },
  {
    name: 'patience only from the first end',
    edits: [
      edit(
        'packages/ledger/src/patience.ts',
        '!this.#groups.has(groupId) && isBegun(group)',
        '!this.#groups.has(groupId) && [...episodes.values()].some((each) => each.groupId === groupId && each.end !== undefined)',
      ),
    ],
  },
  {
    name: 'late rescoring accepted',
    edits: [
      edit(ledger, 'requireReplaced(group, replaces);', 'if (scores.length === 0) requireReplaced(group, replaces);'),
    ],
  },
  {
    name: 'refusals without owner check',
    edits: [edit(swarm, 'if (isOwner === true) return error;', 'if (isOwner !== undefined) return error;')],
  },
  {
    name: 'a late copy of an order is obeyed',
    edits: [
      edit(
        operator,
        'if (ledger.state.operationIds.has(requestId)) return writer.synced();',
        'if (requestId === null) return writer.synced();',
      ),
    ],
  },
  {
    name: 'carry lost on restart',
    edits: [
      edit(
        recover,
        'const { state, nextSequence } = foldStore(store, onEntry);',
        'const { state, nextSequence } = foldStore(store, onEntry);\n  state.shares = { carry: {}, trained: {}, lent: {} };',
      ),
    ],
  },
  {
    name: 'share of another taken',
    edits: [
      edit(places, 'group.revision === revision && can.includes(shareOf(group));', 'group.revision === revision;'),
    ],
  },
  {
    name: 'new parts hold for a batch that has begun',
    edits: [edit(operator, 'this.#firstSteps(aheadOf)', 'this.#firstSteps((each) => 0 * aheadOf(each))')],
  },
  {
    name: 'nothing carried over',
    edits: [
      edit(
        batches,
        'const carry = carryAfter(parts, line.shares.carry, quotas);',
        'const carry = carryAfter(parts, {}, quotas);',
      ),
    ],
  },
  {
    name: 'a sync waits for silence',
    edits: [
      edit(
        writer,
        'const isAwaited = this.#waiters.synced',
        'const isAwaited = this.#pending.length === 0 && this.#waiters.synced',
      ),
    ],
  },
  {
    name: 'one part admitted alone',
    edits: [edit(places, 'policies: trainingPolicies(context) }', 'policies: trainingPolicies(context).slice(0, 1) }')],
  },
  {
    name: 'place refilled after one policy took it',
    edits: [
      edit(policies, "  group.fate = 'assigned';", "  if (policies === undefined) group.fate = 'assigned';"),
      edit(
        policies,
        "  episode.state = 'assigned';",
        "  if (group.policies === undefined) episode.state = 'assigned';",
      ),
    ],
  },
  {
    name: 'redo of the wrong policy',
    edits: [
      edit(
        loop,
        'manifestOf(line, step + 1)',
        'manifestOf([...run.ledger.state.lines.values()].at(-1) ?? line, step + 1)',
      ),
    ],
  },
  {
    name: 'a call bears the version of another policy',
    edits: [
      edit(
        episodes,
        'const { ledger, store, gate, weights, line } = context;',
        'const { ledger, store, gate, line } = context;\n    const { weights } = this.#context;',
      ),
    ],
  },
  {
    name: 'a batch in the order in which its groups began',
    edits: [edit(batches, 'groups: groups.toSorted(byDraw)', 'groups: byDraw === undefined ? [] : groups')],
  },
  {
    name: 'a window with a draw that is still sampled',
    edits: [edit(window, 'if (!trainable.has(group)) waiting.add(group.draw);', 'if (trainable.has(group)) continue;')],
  },
  {
    name: 'a draw that came back is not waited for',
    edits: [edit(window, 'const waiting = new Set(returned);', 'const waiting = new Set([...returned].slice(0, 0));')],
  },
  {
    name: 'a window without its idle draws',
    edits: [edit(index, 'return group.isDrawn === true && fate', 'return group.isDrawn !== true && fate')],
  },
  {
    name: 'an idle window is not trained',
    edits: [edit(loop, 'ready.length + idle.length > 0 || groups.length === 0', 'ready.length > 0')],
  },
  {
    name: 'the next window before the step is done',
    edits: [edit(window, '1 + maxStaleness - (step - doneStep)', '1 + maxStaleness - Math.min(0, step - doneStep)')],
  },
  {
    name: 'a window more than may be ahead',
    edits: [edit(window, '1 + maxStaleness - (step - doneStep)', '2 + maxStaleness - (step - doneStep)')],
  },
  {
    name: 'a doomed group is cut',
    edits: [edit(ledger, 'if (!this.rules.cutsDoomed && !isClosed', 'if (this.rules.cutsDoomed && !isClosed')],
  },
  {
    name: 'a place of a doomed group is tried again',
    edits: [
      edit(
        seats,
        "found === 'open' && place.attempts > 0 && isDoomed",
        "found === 'open' && place.attempts < 0 && isDoomed",
      ),
    ],
  },
  {
    name: 'a file goes before its idle group is covered',
    edits: [
      edit(
        retention,
        'if (step === undefined && group.isDrawn === true)',
        'if (step === undefined && group.isDrawn === false)',
      ),
    ],
  },
  {
    name: 'a second try ranks as the first one',
    edits: [edit(places, 'drawPrefix(pass, expiries)', 'drawPrefix(pass, Math.min(0, expiries))')],
  },
];
