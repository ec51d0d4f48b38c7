import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { findModel } from '../find-model.js';
import type { Cell } from './cell.js';
import { smollm2 } from './smollm2-cells.js';

/** A folder or a GGUF file with the model of typed-tools and choose-function, or its name on the hub. */
const coderName = 'Qwen/Qwen2.5-Coder-0.5B-Instruct';
const coder = process.env['CODER_MODEL'] ?? coderName;
/** The same for the model that becomes its teacher. */
const coderTeacher = process.env['CODER_TEACHER_MODEL'] ?? 'Qwen/Qwen2.5-Coder-1.5B-Instruct';

const isModelHere = (model: string): boolean => existsSync(model) || findModel(model) !== undefined;

const withCoder = {
  backbone: 'torch',
  model: coder,
  modelName: coderName,
  overrides: [`model.path=${coder}`],
  minutes: 30,
  needs: {
    what: `the model ${coder}: npx ajet model get, or CODER_MODEL with a folder`,
    isHere: () => isModelHere(coder),
  },
} as const;

/** Imitates gold calls of BFCL, and is then trained with rewards. The first script needs no network if the data are there. */
const chooseFunction = {
  begins: 'imitation',
  scripts: ['tutorial/choose-function/fetch-bfcl.ts', 'tutorial/choose-function/write-transcripts.ts'],
} as const;

/** Tutorial choose-function with SmolLM2. A benchmark trains it on a CPU. */
export const chooseFunctionSmollm2: Cell = {
  tutorial: 'choose-function-smollm2',
  backbone: 'torch',
  conf: 'tutorial/choose-function/choose_function.yaml',
  overrides: [],
  ...chooseFunction,
  model: smollm2.model,
  needs: {
    what: `${smollm2.needs.what}; and a GPU`,
    isHere: () => smollm2.needs.isHere() && spawnSync('nvidia-smi').status === 0,
  },
  minutes: 15,
};

/** Tutorials on a GPU. */
export const gpuCells: readonly Cell[] = [
  {
    tutorial: 'typed-tools-lenient',
    conf: 'tutorial/typed-tools/typed_tools.yaml',
    ...withCoder,
  },
  {
    tutorial: 'typed-tools-strict',
    conf: 'tutorial/typed-tools/typed_tools_strict.yaml',
    begins: 'imitation',
    scripts: ['tutorial/typed-tools/write-transcripts.ts'],
    ...withCoder,
  },
  {
    tutorial: 'choose-function',
    conf: 'tutorial/choose-function/choose_function_coder.yaml',
    ...chooseFunction,
    ...withCoder,
  },
  chooseFunctionSmollm2,
  {
    tutorial: 'distill-typed-tools',
    conf: 'tutorial/from-a-teacher/typed_tools.yaml',
    ...withCoder,
    teacher: {
      conf: 'tutorial/typed-tools/typed_tools.yaml',
      model: coderTeacher,
      overrides: [
        'trainer_common.optim.lr=5.0e-6',
        'trainer_common.total_training_steps=20',
        'trainer_common.test_freq=10',
      ],
      studentOverrides: ['trainer_common.total_training_steps=20', 'trainer_common.test_freq=1'],
    },
    minutes: 24,
    needs: {
      what: `the models ${coder} and ${coderTeacher}: npx ajet model get, or CODER_MODEL and CODER_TEACHER_MODEL with folders`,
      isHere: () => isModelHere(coder) && isModelHere(coderTeacher),
    },
  },
];
