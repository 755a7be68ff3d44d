// A model that named a space that is not there is told which are.
import { z } from 'zod';
import { HeadworksError } from '../core/index.ts';
import type { Place } from './fields.ts';
import { knowledgePath, text } from './fields.ts';
import type { HeadworksApi } from './ports.ts';

const answer = z.object({ spaces: z.array(z.object({ name: text })) });
const mostNames = 30;

/** The error, with the names of the spaces if it may have been the space that was not found. */
export async function withSpaces(
  error: unknown,
  { space, organization }: Place,
  api: HeadworksApi,
  signal: AbortSignal,
): Promise<unknown> {
  if (space === undefined || !(error instanceof HeadworksError) || error.code !== 'NOT_FOUND') return error;
  try {
    const query = { organization };
    const { spaces } = answer.parse(await api.call('GET', `${knowledgePath}/spaces`, { query, signal }));
    const names = spaces.slice(0, mostNames).map(({ name }) => name);
    return new HeadworksError(error.code, `${error.message} Spaces here: ${names.join(', ') || 'none'}.`, {
      cause: error,
    });
  } catch {
    // What is said already has to do.
    return error;
  }
}
