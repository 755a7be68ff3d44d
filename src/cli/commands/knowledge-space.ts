// The space flags of hand-written commands; derived commands have them from the API.
import type { Command } from 'commander';
import { shellWord } from '../../core/index.ts';

export interface SpaceOptions {
  readonly space?: string;
  readonly organization?: string;
}

export function addSpaceOptions(command: Command): Command {
  return command
    .option('--space <name>', 'name of the space; default: "default"')
    .option(
      '--organization <organization>',
      'id or name of the organization that owns the space; default: the server itself',
    );
}

/** For a query or a body. */
export const spaceFieldsOf = ({ space, organization }: SpaceOptions): SpaceOptions => ({
  space,
  organization,
});

/** For a command to paste: begins with a space, or is empty. */
export const spaceWords = (options: SpaceOptions): string =>
  Object.entries(spaceFieldsOf(options))
    .map(([flag, value]) => (value === undefined ? '' : ` --${flag} ${shellWord(value)}`))
    .join('');
