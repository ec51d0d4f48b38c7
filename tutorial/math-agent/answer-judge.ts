import type { Judge, Task, Verdict, WorkflowOutput } from 'agentjet';

/** Compares the number of the answer with the number of the task. */
export class AnswerJudge implements Judge {
  judge(task: Task, output: WorkflowOutput): Verdict {
    const answer = output.metadata?.['answer'];
    const isSuccess = typeof answer === 'string' && answer.trim() !== '' && Number(answer) === task.metadata['answer'];
    return { reward: isSuccess ? 1 : 0, isSuccess };
  }
}
