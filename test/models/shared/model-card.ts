import type { Transcripts } from './record-transcripts.js';
import type { Recipe } from './recipe.js';
import type { LessonReport } from './train-lessons.js';

export type TrainingReport = {
  readonly seed: number;
  readonly numParameters: number;
  readonly numMerges: number;
  readonly transcripts: readonly Pick<
    Transcripts,
    'course' | 'numEpisodes' | 'numTokens' | 'numAnswerTokens' | 'successRate'
  >[];
  readonly lessons: readonly LessonReport[];
  /** The loss in nats per answer token on transcripts that were not trained, by course. */
  readonly heldOutLoss: Readonly<Record<string, number>>;
  readonly seconds: number;
  readonly machine: string;
};

function row(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |`;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  return [row(head), row(head.map(() => '---')), ...rows.map(row)].join('\n');
}

function describeData({ transcripts, heldOutLoss }: TrainingReport): string {
  const rows = transcripts.map(({ course, numEpisodes, numTokens, numAnswerTokens, successRate }) => [
    course,
    numEpisodes,
    numTokens,
    numAnswerTokens,
    successRate.toFixed(3),
    heldOutLoss[course]?.toFixed(4) ?? '',
  ]);
  return table(
    ['transcripts of', 'episodes', 'tokens', 'tokens of answers', 'success of the teacher', 'held-out loss'],
    rows,
  );
}

function describeLessons({ lessons }: TrainingReport): string {
  const rows = lessons.map(({ lesson, numSteps, rowTokens, treeTokens, seconds, firstLoss, lastLoss }) => [
    lesson,
    numSteps,
    rowTokens,
    treeTokens,
    seconds.toFixed(0),
    firstLoss.toFixed(4),
    lastLoss.toFixed(4),
  ]);
  return table(['lesson', 'steps', 'tokens', 'computed as a tree', 'seconds', 'first loss', 'last loss'], rows);
}

/** Writes the README.md of the model folder. The run that wrote it measured every figure in it. */
export function writeModelCard(recipe: Recipe, report: TrainingReport): string {
  const { name, card, configJson, optimizer, vocabSize } = recipe;
  const { seed, numParameters, numMerges, seconds, machine } = report;
  return `---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
---

# ${name}

A language model of ${numParameters} parameters in the shape of Qwen2 (${configJson['num_hidden_layers']} layers, width ${configJson['hidden_size']}), ${card.purpose}
It has learned the form of these tutorials, messages and tool calls, and has poor judgement, which reinforcement learning improves.
It has learned nothing else.

It was trained from scratch by \`npm run train:${name}\` in ${seconds.toFixed(0)} seconds on ${machine}, seed ${seed}.

## Data

The data are synthetic transcripts with a vocabulary of ${vocabSize} tokens (256 bytes, ${numMerges} merges, marks, and 100 pairs of digits, so that a number is copied in one step). Each tutorial's own workflow runs on tasks of
its training split while a teacher answers in place of the model (\`test/models/${name}/teachers\`): ${card.teachers} Tasks that the tutorials evaluate on are never drawn (\`courses.test.ts\`).

${describeData(report)}

## Training

The training is supervised fine-tuning with AdamW. The learning rate falls from ${optimizer.learningRate} along one cosine. The model first copies pieces of random tokens, then learns every
token of the transcripts, and then the answers alone. Losses are in nats per token.

${describeLessons(report)}
`;
}
