import type { Task, Verdict, WorkflowOutput } from 'agentjet';
import { countQuestions, findTopic } from './ailments.js';
import type { Patient } from './patients.js';

const read = ({ metadata }: WorkflowOutput): readonly string[] => (metadata?.['questions'] ?? []) as readonly string[];

/** Returns the share of hidden facts that the questions reveal, 0..1. */
export function shareFound({ hidden }: Pick<Patient, 'hidden'>, questions: readonly string[]): number {
  const asked = questions.map(findTopic);
  return hidden.filter((topic) => asked.includes(topic)).length / hidden.length;
}

/** Returns the share of turns with one question, 0..1. */
export function shareOfSingleQuestions(questions: readonly string[]): number {
  return questions.filter((words) => countQuestions(words) === 1).length / Math.max(1, questions.length);
}

/** Scores which facts were found. Another judge scores how they were asked. */
export class FactsJudge {
  judge({ metadata }: Task, output: WorkflowOutput): Verdict {
    const found = shareFound(metadata as Patient, read(output));
    return { reward: found, isSuccess: found === 1, parts: { facts_found: found } };
  }
}

/** Scores facts and questions by rules: the share of facts found, minus half the share of turns without exactly one question. */
export class RuleJudge {
  judge({ metadata }: Task, output: WorkflowOutput): Verdict {
    const questions = read(output);
    const found = shareFound(metadata as Patient, questions);
    const single = shareOfSingleQuestions(questions);
    return {
      reward: found - (1 - single) / 2,
      isSuccess: found === 1 && single === 1,
      parts: { facts_found: found, one_question: single },
    };
  }
}
