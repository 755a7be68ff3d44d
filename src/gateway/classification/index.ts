// Classification: what became of asking a model. Pure functions.
export type { ReadChoices, TokenCounts } from './chat-choices.ts';
export { asObject, finishOf, readChoices, readUsage } from './chat-choices.ts';
export type { AnswerCheck } from './check-answer.ts';
export { checkAnswer, isError } from './check-answer.ts';
export type { ClassifiedFailure } from './classify.ts';
export { classifyAnswer, classifyFailure } from './classify.ts';
export { longestErrorBody } from './error-body.ts';
