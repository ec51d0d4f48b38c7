import { snakeKeys, type JsonObject } from '@agentjet/core';
import type { AuditReport } from 'agentjet';

/** The report for scripts. */
export function toAuditJson({
  isInterrupted,
  strategies,
  alarms,
  rightForms,
  spellings,
  ...report
}: AuditReport): JsonObject {
  return {
    ...toSnake(report),
    interrupted: isInterrupted,
    alarms: alarms.map(toSnake),
    strategies: strategies.map(({ plays, ...strategy }) => ({ ...strategy, plays: plays.map(toSnake) })),
    right_forms: rightForms.map(toSnake),
    spellings: spellings.map(toSnake),
  };
}

const toSnake = (part: object): JsonObject => snakeKeys(part as JsonObject);
