import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { nanoModelDir } from '@agentjet/nano';
import { loadChatTokenizer } from '@agentjet/tokenizer';
import { createOnnxBackbone } from '@agentjet/trainer';
import { expect, it } from 'vitest';
import { courses } from './courses.js';
import { recipe } from './nano-recipe.js';
import { recordTranscripts } from '../shared/record-transcripts.js';
import { measureLoss } from '../shared/train-lessons.js';

/**
 * Returns the highest allowed loss of a course, in nats per answer token. Most of the loss is the teachers' own
 * randomness. A model that cannot copy has a loss of 0.5 in math-agent, and of 0.35 in werewolves.
 */
function highestLoss(course: string): number {
  if (course === 'frozen-lake') return 0.6;
  return course === 'werewolves' ? 0.25 : 0.15;
}

it('is small enough to come along', () => {
  const sizes = readdirSync(nanoModelDir).map((file) => statSync(path.join(nanoModelDir, file)).size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(8 * 2 ** 20);
});

it('answers transcripts that it has not seen as the teachers do', async () => {
  const chatTokenizer = await loadChatTokenizer(nanoModelDir);
  expect(chatTokenizer.tokenizer.vocabSize).toBe(recipe.vocabSize);
  const backbone = await createOnnxBackbone({ modelDir: nanoModelDir, train: false, isInThread: true });
  try {
    for (const course of courses) {
      const { samples } = await recordTranscripts(
        { ...course, numEpisodes: 10 },
        { chatTokenizer, contextLength: recipe.contextLength, seed: 11 },
      );
      expect(await measureLoss(backbone, samples), course.name).toBeLessThan(highestLoss(course.name));
    }
  } finally {
    await backbone.close();
  }
});
