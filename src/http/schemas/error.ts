import { ErrorResponse } from '../../api/fields.ts';

export type ErrorAnswer = ErrorResponse;
/** For the `response` of every route that is not an operation of api/ yet. */
export const errorAnswers = { '4xx': ErrorResponse, '5xx': ErrorResponse } as const;
