// How commands about knowledge say which space they mean.
import type { Command } from 'commander';
import { shellWord } from '../../core/index.ts';

export const knowledgePath = '/api/v1/knowledge';

export interface SpaceOption {
  readonly space?: string;
  readonly organization?: string;
}

export function addSpaceOptions(command: Command): Command {
  return command
    .option('--space <name>', 'the space; default: "default"')
    .option('--organization <organization>', 'id or name; default: spaces of the server');
}

/** For a query or a body. */
export const spaceFieldsOf = ({ space, organization }: SpaceOption): Record<string, string> => ({
  ...(space === undefined ? {} : { space }),
  ...(organization === undefined ? {} : { organization }),
});

/** For a command to paste: begins with a space, or is empty. */
export const spaceWords = (options: SpaceOption): string =>
  Object.entries(spaceFieldsOf(options))
    .map(([flag, value]) => ` --${flag} ${shellWord(value)}`)
    .join('');
