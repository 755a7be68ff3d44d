// headworks spaces: manage knowledge spaces.
import type { Command } from 'commander';
import { spacesApi } from '../../api/spaces.ts';
import type { CliContext } from '../command.ts';
import { examples } from '../command.ts';
import { commandFor } from '../derive.ts';

export function register(group: Command, context: CliContext): void {
  examples(group, ['headworks spaces', 'headworks spaces create notizen --language german']);

  commandFor(group, context, spacesApi.list, {
    name: 'list',
    isDefault: true,
    description: 'list spaces of the server and of all organizations, or of one',
    flags: { organization: { description: 'id or name of the organization' } },
    examples: ['headworks spaces list --json', 'headworks spaces list --organization acme-corp'],
    print: ({ out }, { spaces }) =>
      out.list(spaces, 'There are no spaces. The first "headworks ingest" creates one.', [
        'name',
        ['organization', ({ organization_id }) => organization_id ?? '(server)'],
        'language',
        'created_at',
      ]),
  });

  commandFor(group, context, spacesApi.create, {
    name: 'create',
    arguments: { name: ['name', 'letters, digits, "-", "_" and "."'] },
    examples: ['headworks spaces create bi', 'headworks spaces create notizen --language german'],
    print: ({ out }, { name }) => out.line(`Space ${name} is created.`),
  });

  commandFor(group, context, spacesApi.delete, {
    name: 'delete',
    arguments: { space: ['name', 'name of the space'] },
    examples: ['headworks spaces delete bi --force'],
    confirm: ({ params }) =>
      `Delete the space ${params['space']} with all its documents, events and entities?`,
    print: ({ out }, _none, { params }) => out.line(`Space ${params['space']} is deleted.`),
  });
}
