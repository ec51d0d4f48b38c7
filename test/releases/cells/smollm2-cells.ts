import { findModel } from '../find-model.js';
import type { Cell } from './cell.js';

export const smollm2 = {
  backbone: 'onnx',
  model: 'smollm2-135m',
  overrides: [],
  needs: {
    what: 'the model SmolLM2: npx ajet model get smollm2-135m',
    isHere: () => findModel('smollm2-135m') !== undefined,
  },
} as const;

/** Tutorials with SmolLM2 on a CPU. */
export const smollm2Cells: readonly Cell[] = [
  {
    tutorial: 'real-model',
    conf: 'tutorial/real-model/real_model.yaml',
    ...smollm2,
    minutes: 15,
  },
  {
    tutorial: 'real-tools',
    conf: 'tutorial/real-tools/real_tools.yaml',
    ...smollm2,
    minutes: 21,
  },
  {
    tutorial: 'json-extraction',
    conf: 'tutorial/json-extraction/json_extraction.yaml',
    ...smollm2,
    minutes: 9,
  },
  {
    tutorial: 'two-players',
    conf: 'tutorial/two-players/two_players.yaml',
    ...smollm2,
    minutes: 12,
  },
  {
    tutorial: 'distill-smollm2',
    conf: 'tutorial/from-a-teacher/smollm2.yaml',
    ...smollm2,
    teacher: { conf: 'tutorial/real-model/real_model.yaml' },
    minutes: 36,
  },
];
