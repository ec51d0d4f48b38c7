import { describe, test } from 'vitest';
import { backboneCases } from './backbone-cases.js';
import { createTinyTaskBackbone } from './tiny-task.js';

describe('the tiny backbone', () => {
  test.each(backboneCases)('$name', ({ run }) => run({ create: async () => createTinyTaskBackbone(1) }));
});
