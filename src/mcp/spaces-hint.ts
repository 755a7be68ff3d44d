// A model that named a space that is not there is told which are.
import { z } from 'zod';
import { HeadworksError } from '../core/index.ts';
import type { Place } from './fields.ts';
import { knowledgePath, text } from './fields.ts';
import type { HeadworksApi } from './ports.ts';

const answer = z.object({ spaces: z.array(z.object({ name: text })) });
const mostNames = 30;

/** If it was the space that was not found: the error in words for a model, who has no terminal, with the names there are. */
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
    const names = spaces.map(({ name }) => name);
    // Then it was something else that is not there.
    if (names.includes(space)) return error;
    const shown = names.slice(0, mostNames).join(', ') || 'none';
    return new HeadworksError(
      error.code,
      `There is no space ${JSON.stringify(space)} here. Spaces here: ${shown}.`,
      { cause: error },
    );
  } catch {
    // What is said already has to do.
    return error;
  }
}
