import { describe, test } from 'vitest';
import { backboneCases } from './backbone-cases.js';
import { createTinyTaskBackbone } from './tiny-task.js';
import { weightsCases } from './weights-cases.js';

describe.each(['packs', 'rows'] as const)('the tiny backbone that takes %s', (takes) => {
  const open = async () => createTinyTaskBackbone(1, takes);
  test.each(backboneCases(open))('$name', ({ run }) => run());
  test.each(weightsCases(open, { vocabSize: 5 }))('$name', ({ run }) => run());
});
