import { createEnvironmentJudge } from '@agentjet/judges';
import { AnswerJudge } from '#tutorial/math-agent/answer-judge.js';
import { solveProblem as solveWithCode } from '#tutorial/math-agent/workflows/code-tool.js';
import { openLibrary } from '#tutorial/documents/library.js';
import { lookUpIn } from '#tutorial/documents/look-workflow.js';
import { AskWorkflow } from '#tutorial/learning-to-ask/ask-workflow.js';
import { RuleJudge } from '#tutorial/learning-to-ask/judges.js';
import { drawTasks as drawPatients } from '#tutorial/learning-to-ask/patients.js';
import { drawTasks as drawJobs } from '#tutorial/office/jobs.js';
import { doJob } from '#tutorial/office/office-workflow.js';
import { office } from '#tutorial/office/office-world.js';
import type { Course } from '../shared/recipe.js';
import { drawTasks as drawProblems } from './families.js';
import { drawTasks as drawQuestions, otherPages, SameAnswer } from './other-documents.js';
import { askTeacher } from './teachers/ask-teacher.js';
import { codeTeacher } from './teachers/code-teacher.js';
import { officeTeacher } from './teachers/office-teacher.js';
import { readerTeacher } from './teachers/reader-teacher.js';

export const courses: readonly Course[] = [
  {
    name: 'learning-to-ask',
    workflow: AskWorkflow,
    judge: new RuleJudge(),
    teacher: askTeacher,
    drawTasks: (options) => drawPatients('training', options),
    numEpisodes: 4000,
    numSpelled: 200,
  },
  {
    name: 'office',
    workflow: doJob,
    environment: office,
    judge: createEnvironmentJudge({ scale: 1, successBonus: 0, successFrom: null }),
    teacher: officeTeacher,
    drawTasks: (options) => drawJobs('training', options),
    numEpisodes: 4000,
    numSpelled: 300,
  },
  {
    name: 'documents',
    workflow: lookUpIn(openLibrary(otherPages)),
    judge: new SameAnswer(),
    teacher: readerTeacher,
    drawTasks: drawQuestions,
    numEpisodes: 4000,
    numSpelled: 300,
  },
  {
    name: 'reasoning-gym',
    workflow: solveWithCode,
    judge: new AnswerJudge(),
    teacher: codeTeacher,
    drawTasks: drawProblems,
    numEpisodes: 3000,
    numSpelled: 200,
  },
];
