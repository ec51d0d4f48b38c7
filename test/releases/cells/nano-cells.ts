import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import type { Cell } from './cell.js';

/** The Python that `npm run setup:clients` makes. Without it, the Python of the machine is used. */
const clientsPython = path.resolve(import.meta.dirname, '../../endpoint/python/.venv/bin/python');
const python = process.env['AJET_PYTHON'] ?? (existsSync(clientsPython) ? clientsPython : 'python3');

const lakePython = process.env['LAKE_PYTHON'] ?? 'python3';

const nano = { backbone: 'onnx', model: 'nano', overrides: [] } as const;

/** Trains an adapter over weights in int8 instead of all weights. */
const withAdapter = {
  ...nano,
  overrides: ['lora.rank=16', 'onnx.frozen_weights=int8', 'trainer_common.tis_cap=2', 'trainer_common.optim.lr=auto'],
} as const;

/** Tutorials with the tiny model of `packages/nano`. */
export const nanoCells: readonly Cell[] = [
  {
    tutorial: 'frozen-lake',
    conf: 'tutorial/frozen-lake/frozen_lake.yaml',
    ...nano,
    minutes: 4,
  },
  {
    tutorial: 'math-agent',
    conf: 'tutorial/math-agent/math_agent.yaml',
    ...nano,
    minutes: 6,
  },
  {
    tutorial: 'werewolves',
    conf: 'tutorial/werewolves/werewolves.yaml',
    ...nano,
    minutes: 9,
  },
  {
    tutorial: 'frozen-lake-lora',
    conf: 'tutorial/frozen-lake/frozen_lake.yaml',
    ...withAdapter,
    minutes: 4,
  },
  {
    tutorial: 'math-agent-lora',
    conf: 'tutorial/math-agent/math_agent.yaml',
    ...withAdapter,
    minutes: 6,
  },
  {
    tutorial: 'werewolves-lora',
    conf: 'tutorial/werewolves/werewolves.yaml',
    ...withAdapter,
    minutes: 9,
  },
  {
    tutorial: 'langgraph-graph',
    conf: 'tutorial/langgraph-graph/market.yaml',
    ...nano,
    minutes: 5,
  },
  {
    tutorial: 'large-to-small',
    conf: 'tutorial/large-to-small/large_to_small.yaml',
    ...nano,
    begins: 'imitation',
    minutes: 8,
  },
  {
    tutorial: 'distill',
    conf: 'tutorial/from-a-teacher/from_a_teacher.yaml',
    ...nano,
    teacher: { conf: 'tutorial/math-agent/math_agent.yaml' },
    minutes: 12,
  },
  {
    tutorial: 'feedback',
    conf: 'tutorial/feedback/feedback.yaml',
    ...nano,
    begins: 'first week',
    minutes: 6,
  },
  {
    tutorial: 'any-language',
    conf: 'tutorial/any-language/python_agent.yaml',
    ...nano,
    minutes: 12,
    env: { AJET_PYTHON: python },
    needs: {
      what: 'a Python with the openai package: `npm run setup:clients`, or AJET_PYTHON',
      isHere: () => spawnSync(python, ['-c', 'import openai']).status === 0,
    },
  },
  {
    tutorial: 'black-box',
    conf: 'tutorial/black-box/black_box.yaml',
    ...nano,
    begins: 'imitation',
    servedProgram: [
      process.execPath,
      path.resolve(import.meta.dirname, '../../../tutorial/black-box/coder.mjs'),
      '{query}',
    ],
    minutes: 21,
  },
  {
    tutorial: 'countdown',
    conf: 'tutorial/countdown/countdown.yaml',
    ...nano,
    begins: 'imitation',
    minutes: 7,
  },
  {
    tutorial: 'environments',
    conf: 'tutorial/environments/environments.yaml',
    ...nano,
    minutes: 4,
  },
  {
    tutorial: 'environments-agentjet',
    conf: 'tutorial/environments/environments.yaml',
    ...nano,
    overrides: ['environment.protocol=worlds.ts->overAgentjet'],
    minutes: 6,
  },
  {
    tutorial: 'environments-openenv',
    conf: 'tutorial/environments/environments.yaml',
    ...nano,
    overrides: ['environment.protocol=worlds.ts->overOpenenv'],
    minutes: 6,
    env: { LAKE_PYTHON: lakePython },
    needs: {
      what: 'a Python with openenv and gymnasium: pip install openenv==0.10.0 gymnasium==1.4.0, or LAKE_PYTHON',
      isHere: () => spawnSync(lakePython, ['-c', 'import openenv, gymnasium']).status === 0,
    },
  },
  {
    tutorial: 'environments-mcp',
    conf: 'tutorial/environments/environments.yaml',
    ...nano,
    overrides: ['environment.protocol=worlds.ts->overMcp'],
    minutes: 8,
  },
  {
    tutorial: 'two-models',
    conf: 'tutorial/two-models/two_models.yaml',
    ...nano,
    servedPolicy: 'planner',
    minutes: 9,
  },
  {
    tutorial: 'two-models-shared',
    conf: 'tutorial/two-models/one_model.yaml',
    ...nano,
    minutes: 9,
  },
];
