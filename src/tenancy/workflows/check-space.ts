// The option `space` of workflows that work on knowledge: it must be one of the organization's own.
import type { WorkflowProblem } from '../ports.ts';
import type { Fields } from './check-fields.ts';
import { text } from './check-fields.ts';
import type { SpaceCheck } from './workflow-parts.ts';

export const spaceOption = { space: text(100) } as const;

/** Nothing is wrong with a space that is not named: the default one is made at first need. */
export async function spaceProblems(
  spaces: SpaceCheck,
  { space }: Fields,
  organizationId: string,
): Promise<readonly WorkflowProblem[]> {
  if (typeof space !== 'string' || spaceOption.space(space) !== null) return [];
  const message = await spaces.spaceProblem(organizationId, space);
  return message === null ? [] : [{ field: 'space', message }];
}

/** The same as sentences, of a deployment that is there: its space may have been removed. Nobody can tell: nothing. */
export async function spaceWarnings(
  spaces: SpaceCheck,
  options: Fields,
  organizationId: string,
): Promise<readonly string[]> {
  const problems = await spaceProblems(spaces, options, organizationId).catch(() => []);
  return problems.map(
    ({ message }) => `The space ${JSON.stringify(options['space'])} ${message}. Calls will fail until then.`,
  );
}
