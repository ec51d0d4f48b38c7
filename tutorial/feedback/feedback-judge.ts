import { JudgeError } from '@agentjet/core';
import type { Judge, Task, Verdict, WorkflowOutput } from 'agentjet';

/** Compares an answer with the right one according to the user: the correction, or the answer that got a thumb up. */
export class FeedbackJudge implements Judge {
  judge({ taskId, metadata }: Task, output: WorkflowOutput): Verdict {
    const right = metadata['answer'] ?? (metadata['is_good'] === true ? metadata['given_answer'] : undefined);
    if (right === undefined) throw new JudgeError('no_answer', `Nobody said what is right for task "${taskId}".`);
    const answer = output.metadata?.['answer'];
    const isSuccess = typeof answer === 'string' && answer.trim() !== '' && Number(answer) === Number(right);
    return { reward: isSuccess ? 1 : 0, isSuccess };
  }
}
