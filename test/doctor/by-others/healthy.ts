import { lookUp } from '#tutorial/documents/look-workflow.js';
import { FrozenLakeWorkflow } from '#tutorial/frozen-lake/frozen-lake-workflow.js';
import { AskWorkflow } from '#tutorial/learning-to-ask/ask-workflow.js';
import { FactsJudge, RuleJudge } from '#tutorial/learning-to-ask/judges.js';
import { AnswerJudge } from '#tutorial/math-agent/answer-judge.js';
import { solveProblem as solveWithCode } from '#tutorial/math-agent/workflows/code-tool.js';
import { solveProblem as solveWithAiSdk } from '#tutorial/math-agent/workflows/ai-sdk.js';
import { solveProblem as solveWithOpenai } from '#tutorial/math-agent/workflows/openai.js';
import { solveProblem as solveWithReact } from '#tutorial/math-agent/workflows/react.js';
import { drawTasks as drawJobs } from '#tutorial/office/jobs.js';
import { office } from '#tutorial/office/office-world.js';
import { doJob } from '#tutorial/office/office-workflow.js';
import { solveTogether } from '#tutorial/two-models/two-models-workflow.js';
import { drawTasks as drawFamilies } from '../../models/micro/families.js';
import { openTutorial } from '../open-tutorial.js';
import type { Plant } from '../plant.js';
import { documentTasks } from './document-tasks.js';
import { lakes, patients, problems, smallJob } from './jobs.js';
import { fish, journeyTasks, readJourney, shelfTasks, stayOnIce } from './own-tasks.js';

/** Runs without a planted mistake. Their settings differ from the defaults in ways that work. */

const short = { maxResponseLengthInOneTurn: 32 };

const fishing: Plant = {
  name: 'by-others.ice-fishing',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 40,
      workflow: fish,
      tasks: lakes(101),
      settings: { algorithm: 'maxrl', seed: 7, batchSize: 4, lr: 1e-3 },
    }),
};

const staying: Plant = {
  name: 'by-others.stay-on-the-ice',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 40,
      workflow: stayOnIce,
      tasks: lakes(102),
      settings: { algorithm: 'rloo', seed: 8, numRepeat: 6, batchSize: 5, lr: 1e-3 },
      rollout: { temperature: 0.8 },
    }),
};

const shelves: Plant = {
  name: 'by-others.shelves',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 24,
      workflow: solveWithReact,
      judge: new AnswerJudge(),
      tasks: shelfTasks(103),
      settings: { seed: 9, batchSize: 6, numRepeat: 10, lr: 1e-3 },
    }),
};

const lakeWithKl: Plant = {
  name: 'by-others.lake-with-kl',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 32,
      workflow: FrozenLakeWorkflow,
      tasks: lakes(104),
      settings: { algorithm: 'reinforce', seed: 10, lr: 3e-4, batchSize: 4 },
      trainerCommon: { useKlLoss: true, klLossCoef: 0.01, optim: { lrSchedulerType: 'cosine' } },
    }),
};

const clientMath: Plant = {
  name: 'by-others.math-over-the-client',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 26,
      workflow: solveWithOpenai,
      judge: new AnswerJudge(),
      tasks: problems(105, 60),
      settings: { algorithm: 'maxrl', seed: 11, lr: 1e-3 },
      trainerCommon: { testFreq: 13 },
    }),
};

const sdkMath: Plant = {
  name: 'by-others.math-in-mini-batches',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 26,
      workflow: solveWithAiSdk,
      judge: new AnswerJudge(),
      tasks: problems(106, 60),
      settings: { algorithm: 'reinforce_plus_plus', seed: 12, lr: 5e-4, miniBatchNum: 2 },
      trainerCommon: { testFreq: 13 },
    }),
};

const families: Plant = {
  name: 'by-others.legs-and-sums',
  open: ({ experimentDir }) => {
    const tasks = drawFamilies({ seed: 107, count: 700 });
    return smallJob({
      experimentDir,
      steps: 22,
      workflow: solveWithCode,
      judge: new AnswerJudge(),
      tasks: { training: tasks.slice(60), validation: tasks.slice(0, 60) },
      settings: { model: 'micro', algorithm: 'rloo', seed: 13 },
      trainerCommon: { testFreq: 13 },
    });
  },
};

const clerk: Plant = {
  name: 'by-others.office-refilled',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 19,
      workflow: doJob,
      tasks: {
        training: drawJobs('training', { seed: 108, count: 700 }),
        validation: drawJobs('evaluation', { seed: 1, count: 60 }),
      },
      taskJudge: { judgeType: 'environment' },
      settings: { model: 'micro', algorithm: 'dapo', seed: 14, batchSize: 4, lr: 1e-3 },
    }).setEnvironment(office),
};

const reader: Plant = {
  name: 'by-others.documents',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 36,
      workflow: lookUp,
      tasks: documentTasks(),
      taskJudge: { judgeType: 'answer', answer: { compare: 'text' } },
      settings: { model: 'micro', seed: 15, batchSize: 4, lr: 1e-3 },
      trainerCommon: { totalEpochs: 10, testFreq: 20 },
    }),
};

const doctor: Plant = {
  name: 'by-others.facts-alone',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 24,
      workflow: AskWorkflow,
      judge: new FactsJudge(),
      tasks: patients(110, 60),
      rollout: short,
      settings: { model: 'micro', seed: 16, numRepeat: 10, batchSize: 4, lr: 1e-3 },
      trainerCommon: { entropyCoeff: 0.001, testFreq: 20 },
    }),
};

const ruledDoctor: Plant = {
  name: 'by-others.rules-with-a-warm-start',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 36,
      workflow: AskWorkflow,
      judge: new RuleJudge(),
      tasks: patients(111, 60),
      rollout: short,
      settings: { model: 'micro', seed: 17, algorithm: 'rloo', batchSize: 4 },
      trainerCommon: { optim: { lrWarmupSteps: 6 } },
    }),
};

const team: Plant = {
  name: 'by-others.team',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 40,
      workflow: solveTogether,
      tasks: problems(112, 60),
      settings: { algorithm: 'maxrl', seed: 18, batchSize: 4, lr: 1e-3 },
      trainerCommon: { testFreq: 20, optim: { lrSchedulerType: 'cosine' } },
    }).setConfig({ trainableTargets: ['planner', 'worker'] }),
};

/** Returns a tutorial of SmolLM2 with other settings. */
const smol = (name: string, file: string, overrides: readonly string[]): Plant => ({
  name: `by-others.${name}`,
  open: ({ experimentDir }) => openTutorial(file, experimentDir, overrides),
});

const journeys: Plant = {
  name: 'by-others.journeys-smollm2',
  open: ({ experimentDir }) =>
    smallJob({
      experimentDir,
      steps: 8,
      workflow: readJourney,
      tasks: journeyTasks(113),
      settings: {
        model: 'smollm2-135m',
        lr: 3e-5,
        seed: 19,
        maxModelLen: 320,
        maxPromptLength: 256,
        maxResponseLength: 64,
      },
      rollout: { temperature: 0.7, maxResponseLengthInOneTurn: 24 },
      trainerCommon: { testFreq: 8, maxPackTokens: 1024 },
    }),
};

export const healthyByOthers: readonly Plant[] = [
  fishing,
  staying,
  shelves,
  lakeWithKl,
  clientMath,
  sdkMath,
  families,
  clerk,
  reader,
  doctor,
  ruledDoctor,
  team,
  journeys,
  smol('orders-smollm2', 'json-extraction/json_extraction.yaml', [
    'trainer_common.seed=21',
    'trainer_common.total_training_steps=10',
    'trainer_common.test_freq=10',
    'trainer_common.algorithm.adv_estimator=rloo',
    'rollout.temperature=0.9',
  ]),
  smol('calculator-smollm2', 'real-model/real_model.yaml', [
    'trainer_common.seed=22',
    'trainer_common.total_training_steps=16',
    'trainer_common.test_freq=16',
    'trainer_common.algorithm.adv_estimator=dr_grpo',
    'trainer_common.optim.lr=4.0e-5',
  ]),
];
