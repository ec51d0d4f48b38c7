import { spawnSync } from 'node:child_process';
import type { Cell } from './cell.js';

const reasoningPython = process.env['REASONING_GYM_PYTHON'] ?? 'python3';

const micro = { backbone: 'onnx', model: 'micro', overrides: [] } as const;

/** Tutorials with the small model of `packages/micro`. */
export const microCells: readonly Cell[] = [
  {
    tutorial: 'learning-to-ask',
    conf: 'tutorial/learning-to-ask/learning_to_ask.yaml',
    ...micro,
    minutes: 9,
  },
  {
    tutorial: 'learning-to-ask-llm',
    conf: 'tutorial/learning-to-ask/learning_to_ask_llm.yaml',
    ...micro,
    judge: {
      model: 'tutorial/learning-to-ask/judge/model',
      labelled: 'tutorial/learning-to-ask/judge/labelled.jsonl',
    },
    minutes: 12,
  },
  {
    tutorial: 'office',
    conf: 'tutorial/office/office.yaml',
    ...micro,
    minutes: 12,
  },
  {
    tutorial: 'documents',
    conf: 'tutorial/documents/documents.yaml',
    ...micro,
    minutes: 9,
  },
  {
    tutorial: 'reasoning-gym',
    conf: 'tutorial/math-agent/reasoning-gym/reasoning_gym.yaml',
    ...micro,
    minutes: 9,
    env: { REASONING_GYM_PYTHON: reasoningPython },
    needs: {
      what: 'a Python with reasoning-gym: pip install reasoning-gym==0.1.25, or REASONING_GYM_PYTHON',
      isHere: () => spawnSync(reasoningPython, ['-c', 'import reasoning_gym']).status === 0,
    },
  },
];
