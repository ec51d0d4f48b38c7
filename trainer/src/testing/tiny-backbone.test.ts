import { describe, test } from 'vitest';
import { backboneCases } from './backbone-cases.js';
import { createTinyTaskBackbone } from './tiny-task.js';

describe('the tiny backbone', () => {
  test.each(backboneCases(async () => createTinyTaskBackbone(1)))('$name', ({ run }) => run());
});
