import {
  ConfigError,
  findNearestKey,
  isExportReference,
  openEntry,
  setting,
  z,
  type OpenableEntry,
} from '@agentjet/core';
import { createJudge, defineJudge, isGroupJudge, type Judge, type JudgeParts } from '@agentjet/rollout/inputs';

type Entry = OpenableEntry<JudgeParts, Judge | undefined>;

/** Defines the judge that combines several of these judges. */
export const combine = (singleJudges: readonly Entry[]) =>
  defineJudge({
    name: 'combined',
    summary: 'several judges, weighted; each part has its own section',
    section: z.strictObject({
      parts: setting(
        z.record(z.string().min(1), z.number()),
        {},
        'weights by the name of a judge, or path/file.ts->Export, such as { answer: 0.8, llm: 0.2 }; the reward is the weighted sum',
        { path: 'name' },
      ),
      gates: setting(
        z.array(z.string().min(1)),
        [],
        'parts that are asked first; if one of them does not succeed, the others are not asked',
        { path: 'name' },
      ),
      gate_reward: setting(z.number(), 0, 'reward of an episode that a gate stops'),
      success_from: setting(z.number().nullable(), null, 'lowest reward of a success; null: every part must succeed'),
    }),
    async open({ parts: weights, gates, gateReward, successFrom }, { config, signal }) {
      const names = [...new Set([...gates, ...Object.keys(weights)])];
      if (names.length === 0)
        throw new ConfigError(
          'bad_judge',
          'task_judge.combined.parts is empty. Name judges with their weights: { answer: 1 }.',
        );
      const { createCombinedJudge } = await import('./combined-judge.js');
      const recorded = names.map(partName);
      const parts = [];
      for (const [at, name] of names.entries())
        parts.push({
          name: recorded.indexOf(partName(name)) === at ? partName(name) : name,
          judge: await openPart(name, singleJudges, { config, signal }),
          weight: weights[name] ?? 0,
          isGate: gates.includes(name),
        });
      return createCombinedJudge(parts, { gateReward, successFrom });
    },
  });

async function openPart(name: string, singleJudges: readonly Entry[], parts: JudgeParts): Promise<Judge> {
  const key = 'task_judge.combined.parts';
  const { importUserModule } = await import('@agentjet/rollout/loading');
  const judge = isExportReference(name)
    ? createJudge(await importUserModule(name, process.cwd(), key), `${key} ${name}`)
    : await openEntry('judges', findEntry(name, singleJudges), parts.config, parts);
  if (judge !== undefined && !isGroupJudge(judge)) return judge;
  throw new ConfigError(
    'bad_judge',
    `${key} names ${name}, which ${judge === undefined ? 'scores nothing' : 'scores whole groups'}. Name a judge of single episodes.`,
  );
}

function findEntry(name: string, singleJudges: readonly Entry[]): Entry {
  const entry = singleJudges.find((each) => each.name === name);
  if (entry !== undefined) return entry;
  const names = singleJudges.map((each) => each.name);
  const nearest = findNearestKey(name, names);
  throw new ConfigError(
    'bad_judge',
    `task_judge.combined names "${name}", but a part is one of ${names.join(', ')}, or path/file.ts->Export.${nearest === undefined ? '' : ` Did you mean "${nearest}"?`}`,
  );
}

/** `judges/style.ts->Style` is recorded as `Style`. A second `Style` keeps its whole name. */
const partName = (name: string): string => (isExportReference(name) ? (name.split('->').at(-1) ?? name).trim() : name);
