// Words and numbers of the picture.
import type { FlowAnswer } from '../../../../src/http/contract.ts';

type Minute = FlowAnswer['minutes'][number];

const none: Minute = {
  at: '',
  admitted: 0,
  refused: 0,
  model_calls: 0,
  model_failures: 0,
  executions_ended: 0,
};

/** The minute that has just ended and the one that goes on: whichever saw more, so that figures do not jump to 0. */
export function lastMinute(minutes: readonly Minute[]): Minute {
  const [before = none, now = none] = [minutes.at(-2), minutes.at(-1)];
  const most = (name: Exclude<keyof Minute, 'at'>): number => Math.max(before[name], now[name]);
  return {
    at: now.at,
    admitted: most('admitted'),
    refused: most('refused'),
    model_calls: most('model_calls'),
    model_failures: most('model_failures'),
    executions_ended: most('executions_ended'),
  };
}

export const plural = (count: number, word: string): string => (count === 1 ? word : `${word}s`);
