import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { findModel } from './find-model.js';

/**
 * The cells of the release table: a tutorial on a backbone. A tutorial joins release tracking by one entry here.
 * `minutes` is how long three seeds take on two cores. It is used only to order the cells.
 */
export type Cell = {
  readonly tutorial: string;
  readonly backbone: 'onnx' | 'torch';
  readonly conf: string;
  readonly overrides: readonly string[];
  readonly model: string;
  /** The name of the model in results. Present if `model` may be a path of this machine. */
  readonly modelName?: string;
  /** Scripts of the tutorial that get its data, or write it. They run before each seed. */
  readonly scripts?: readonly string[];
  /**
   * What the run begins with, if not the cell's model: the model that `ajet sft` makes with the same seed, or the model
   * after a first week of users. See `prepare-cell.ts`.
   */
  readonly begins?: 'imitation' | 'first week';
  /** The teacher is trained with rewards first, with the seed of the student. */
  readonly teacher?: TeacherOfCell;
  /**
   * A frozen model that the judge `llm` of `conf` asks. It is served while the cell trains, and first tried on labelled
   * answers.
   */
  readonly judge?: { readonly model: string; readonly labelled: string };
  /**
   * `conf` names several policies, so a server trains them and a client runs the agents. The result is read from this
   * policy's metrics.
   */
  readonly servedPolicy?: string;
  /** A server trains, and `ajet swarm run -- <program>` runs this program for it. */
  readonly servedProgram?: readonly string[];
  readonly minutes: number;
  /** A requirement that `npm install` does not install, and how to install it. The cell runs only if it is found. */
  readonly needs?: { readonly what: string; readonly isHere: () => boolean };
  /** The environment of the run. */
  readonly env?: Readonly<Record<string, string>>;
};

export type TeacherOfCell = {
  /** The configuration of the rewards. */
  readonly conf: string;
  /**
   * The model that becomes the teacher, if it is not the model of the cell. The student is then trained with the same
   * rewards too, so that the tokens of both ways can be compared.
   */
  readonly model?: string;
  /** Settings of the teacher's training, and of the student's training with rewards. */
  readonly overrides?: readonly string[];
  readonly studentOverrides?: readonly string[];
};

/** The Python that `npm run setup:clients` makes. Without it, the Python of the machine is used. */
const clientsPython = path.resolve(import.meta.dirname, '../endpoint/python/.venv/bin/python');
const python = process.env['AJET_PYTHON'] ?? (existsSync(clientsPython) ? clientsPython : 'python3');

const reasoningPython = process.env['REASONING_GYM_PYTHON'] ?? 'python3';
const lakePython = process.env['LAKE_PYTHON'] ?? 'python3';

const smollm2 = {
  model: 'smollm2-135m',
  needs: {
    what: 'the model SmolLM2: npx ajet model get smollm2-135m',
    isHere: () => findModel('smollm2-135m') !== undefined,
  },
} as const;

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

export const cells: readonly Cell[] = [
  {
    tutorial: 'frozen-lake',
    backbone: 'onnx',
    conf: 'tutorial/frozen-lake/frozen_lake.yaml',
    overrides: [],
    model: 'nano',
    minutes: 4,
  },
  {
    tutorial: 'math-agent',
    backbone: 'onnx',
    conf: 'tutorial/math-agent/math_agent.yaml',
    overrides: [],
    model: 'nano',
    minutes: 6,
  },
  {
    tutorial: 'werewolves',
    backbone: 'onnx',
    conf: 'tutorial/werewolves/werewolves.yaml',
    overrides: [],
    model: 'nano',
    minutes: 9,
  },
  {
    tutorial: 'langgraph-graph',
    backbone: 'onnx',
    conf: 'tutorial/langgraph-graph/market.yaml',
    overrides: [],
    model: 'nano',
    minutes: 5,
  },
  {
    tutorial: 'large-to-small',
    backbone: 'onnx',
    conf: 'tutorial/large-to-small/large_to_small.yaml',
    overrides: [],
    model: 'nano',
    begins: 'imitation',
    minutes: 8,
  },
  {
    tutorial: 'distill',
    backbone: 'onnx',
    conf: 'tutorial/from-a-teacher/from_a_teacher.yaml',
    overrides: [],
    model: 'nano',
    teacher: { conf: 'tutorial/math-agent/math_agent.yaml' },
    minutes: 12,
  },
  {
    tutorial: 'feedback',
    backbone: 'onnx',
    conf: 'tutorial/feedback/feedback.yaml',
    overrides: [],
    model: 'nano',
    begins: 'first week',
    minutes: 6,
  },
  {
    tutorial: 'any-language',
    backbone: 'onnx',
    conf: 'tutorial/any-language/python_agent.yaml',
    overrides: [],
    model: 'nano',
    minutes: 12,
    env: { AJET_PYTHON: python },
    needs: {
      what: 'a Python with the openai package: `npm run setup:clients`, or AJET_PYTHON',
      isHere: () => spawnSync(python, ['-c', 'import openai']).status === 0,
    },
  },
  {
    tutorial: 'black-box',
    backbone: 'onnx',
    conf: 'tutorial/black-box/black_box.yaml',
    overrides: [],
    model: 'nano',
    begins: 'imitation',
    servedProgram: [
      process.execPath,
      path.resolve(import.meta.dirname, '../../tutorial/black-box/coder.mjs'),
      '{query}',
    ],
    minutes: 21,
  },
  {
    tutorial: 'countdown',
    backbone: 'onnx',
    conf: 'tutorial/countdown/countdown.yaml',
    overrides: [],
    model: 'nano',
    begins: 'imitation',
    minutes: 7,
  },
  {
    tutorial: 'environments',
    backbone: 'onnx',
    conf: 'tutorial/environments/environments.yaml',
    overrides: [],
    model: 'nano',
    minutes: 4,
  },
  {
    tutorial: 'environments-agentjet',
    backbone: 'onnx',
    conf: 'tutorial/environments/environments.yaml',
    overrides: ['environment.protocol=worlds.ts->overAgentjet'],
    model: 'nano',
    minutes: 6,
  },
  {
    tutorial: 'environments-openenv',
    backbone: 'onnx',
    conf: 'tutorial/environments/environments.yaml',
    overrides: ['environment.protocol=worlds.ts->overOpenenv'],
    model: 'nano',
    minutes: 6,
    env: { LAKE_PYTHON: lakePython },
    needs: {
      what: 'a Python with openenv and gymnasium: pip install openenv==0.10.0 gymnasium==1.4.0, or LAKE_PYTHON',
      isHere: () => spawnSync(lakePython, ['-c', 'import openenv, gymnasium']).status === 0,
    },
  },
  {
    tutorial: 'environments-mcp',
    backbone: 'onnx',
    conf: 'tutorial/environments/environments.yaml',
    overrides: ['environment.protocol=worlds.ts->overMcp'],
    model: 'nano',
    minutes: 8,
  },
  {
    tutorial: 'two-models',
    backbone: 'onnx',
    conf: 'tutorial/two-models/two_models.yaml',
    overrides: [],
    model: 'nano',
    servedPolicy: 'planner',
    minutes: 9,
  },
  {
    tutorial: 'two-models-shared',
    backbone: 'onnx',
    conf: 'tutorial/two-models/one_model.yaml',
    overrides: [],
    model: 'nano',
    minutes: 9,
  },
  {
    tutorial: 'learning-to-ask',
    backbone: 'onnx',
    conf: 'tutorial/learning-to-ask/learning_to_ask.yaml',
    overrides: [],
    model: 'micro',
    minutes: 9,
  },
  {
    tutorial: 'learning-to-ask-llm',
    backbone: 'onnx',
    conf: 'tutorial/learning-to-ask/learning_to_ask_llm.yaml',
    overrides: [],
    model: 'micro',
    judge: {
      model: 'tutorial/learning-to-ask/judge/model',
      labelled: 'tutorial/learning-to-ask/judge/labelled.jsonl',
    },
    minutes: 12,
  },
  {
    tutorial: 'office',
    backbone: 'onnx',
    conf: 'tutorial/office/office.yaml',
    overrides: [],
    model: 'micro',
    minutes: 12,
  },
  {
    tutorial: 'documents',
    backbone: 'onnx',
    conf: 'tutorial/documents/documents.yaml',
    overrides: [],
    model: 'micro',
    minutes: 9,
  },
  {
    tutorial: 'reasoning-gym',
    backbone: 'onnx',
    conf: 'tutorial/math-agent/reasoning-gym/reasoning_gym.yaml',
    overrides: [],
    model: 'micro',
    minutes: 9,
    env: { REASONING_GYM_PYTHON: reasoningPython },
    needs: {
      what: 'a Python with reasoning-gym: pip install reasoning-gym==0.1.25, or REASONING_GYM_PYTHON',
      isHere: () => spawnSync(reasoningPython, ['-c', 'import reasoning_gym']).status === 0,
    },
  },
  {
    tutorial: 'real-model',
    backbone: 'onnx',
    conf: 'tutorial/real-model/real_model.yaml',
    overrides: [],
    ...smollm2,
    minutes: 15,
  },
  {
    tutorial: 'real-tools',
    backbone: 'onnx',
    conf: 'tutorial/real-tools/real_tools.yaml',
    overrides: [],
    ...smollm2,
    minutes: 21,
  },
  {
    tutorial: 'json-extraction',
    backbone: 'onnx',
    conf: 'tutorial/json-extraction/json_extraction.yaml',
    overrides: [],
    ...smollm2,
    minutes: 9,
  },
  {
    tutorial: 'two-players',
    backbone: 'onnx',
    conf: 'tutorial/two-players/two_players.yaml',
    overrides: [],
    ...smollm2,
    minutes: 12,
  },
  {
    tutorial: 'distill-smollm2',
    backbone: 'onnx',
    conf: 'tutorial/from-a-teacher/smollm2.yaml',
    overrides: [],
    teacher: { conf: 'tutorial/real-model/real_model.yaml' },
    ...smollm2,
    minutes: 36,
  },
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
    backbone: 'torch',
    conf: 'tutorial/from-a-teacher/typed_tools.yaml',
    overrides: [`model.path=${coder}`],
    model: coder,
    modelName: coderName,
    teacher: {
      conf: 'tutorial/typed-tools/typed_tools.yaml',
      model: coderTeacher,
      overrides: ['trainer_common.optim.lr=5.0e-6', 'trainer_common.test_freq=10'],
      studentOverrides: ['trainer_common.total_training_steps=20', 'trainer_common.test_freq=1'],
    },
    minutes: 24,
    needs: {
      what: `the models ${coder} and ${coderTeacher}: npx ajet model get, or CODER_MODEL and CODER_TEACHER_MODEL with folders`,
      isHere: () => isModelHere(coder) && isModelHere(coderTeacher),
    },
  },
];

/** Returns the name of the cell's model in results. */
export function modelNameOf({ model, modelName }: Pick<Cell, 'model' | 'modelName'>): string {
  return modelName ?? model;
}

export function cellName({ tutorial, backbone }: { readonly tutorial: string; readonly backbone: string }): string {
  return `${tutorial}.${backbone}`;
}

/**
 * Returns the cells that the command line asks for, or all cells if it names none. Throws Error for a name that no cell
 * has.
 */
export function chooseCells(wanted: {
  readonly only?: string | undefined;
  readonly backbone?: string | undefined;
  readonly cheapest?: boolean | undefined;
}): readonly Cell[] {
  const chosen = cells.filter(
    ({ tutorial, backbone }) =>
      (wanted.only === undefined || wanted.only === tutorial) &&
      (wanted.backbone === undefined || wanted.backbone === backbone),
  );
  if (chosen.length === 0)
    throw new Error(
      `No cell is ${wanted.only ?? 'any tutorial'} on ${wanted.backbone ?? 'any backbone'}. The cells are ${cells.map(cellName).join(', ')}.`,
    );
  return wanted.cheapest === true ? chosen.toSorted((a, b) => a.minutes - b.minutes).slice(0, 1) : chosen;
}
