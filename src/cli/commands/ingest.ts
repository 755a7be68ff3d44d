// headworks ingest: documents into knowledge.
import type { Command } from 'commander';
import { CoreError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import type { ExitCode } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';
import { addFolders } from './folders.ts';
import type { Documents, IngestBody, IngestOptions } from './ingest-run.ts';
import { estimateAll, ingestAll } from './ingest-run.ts';
import { choiceOf } from './ingest-vault.ts';
import { addSpaceOptions } from './knowledge-space.ts';

export function registerIngest(program: Command, host: CommandHost): void {
  const command = addSpaceOptions(
    program
      .command('ingest')
      .argument('[paths...]', 'files and folders; - reads text from standard input')
      .description('take documents in: text, Markdown, HTML, PDF, DOCX, EML, JSON'),
  )
    .option('--vault <file>', 'items of a vault, with owners, folders, models and explores')
    .option('--remove-missing', 'with --vault: remove documents whose items are gone at the source')
    .option('--type <type>', 'email, doc, chat, transcript or note; default: by the kind of file')
    .option('--title <title>', 'default: what the document says, or its name')
    .option('--source-id <id>', 'what the source calls it, so that it can be revised later')
    .option('--estimate', 'say how many calls and tokens it would take, and do nothing')
    .option('--no-wait', 'do not wait until everything is read')
    .option(
      '--watch',
      'from now on the server looks at these folders every few seconds ("headworks folders")',
    )
    .option(
      '--schedule <cron>',
      'from now on the server reads these folders when it says (five fields, UTC)',
    );
  examples(command, [
    'headworks ingest notes/ minutes.docx mail.eml',
    'headworks ingest notes/ --estimate',
    'headworks ingest --vault looker.vault --space bi',
    'headworks ingest --vault looker.vault --remove-missing',
    'pbpaste | headworks ingest - --title "Call with Acme" --type transcript',
    'headworks ingest /srv/notes --schedule "0 3 * * *"',
  ]);
  act<IngestOptions>(host, command, ingest);
}

async function ingest(
  session: CliSession,
  options: IngestOptions,
  paths: readonly string[],
): Promise<ExitCode> {
  if (paths.length === 0 && options.vault === undefined)
    throw new CoreError(
      'INPUT_INVALID',
      'Name files or folders, or a vault with --vault; - reads standard input.',
    );
  if (options.watch === true || options.schedule !== undefined) return addFolders(session, options, paths);
  if (options.removeMissing === true && options.vault === undefined)
    throw new CoreError(
      'INPUT_INVALID',
      '--remove-missing goes with --vault, or with --watch or --schedule. "headworks artifacts delete ID" removes one document.',
    );
  const skipped = { links: 0, special: 0 };
  const documents: Documents = {
    skipped,
    bodies: (system) => bodiesOf(session, options, paths, { skipped, system }),
  };
  return options.estimate === true
    ? estimateAll(session, options, documents)
    : ingestAll(session, options, documents);
}

/** One after the other: each is read when its turn comes. */
async function* bodiesOf(
  session: CliSession,
  options: IngestOptions,
  paths: readonly string[],
  about: { readonly skipped: { links: number; special: number }; readonly system: string | undefined },
): AsyncGenerator<IngestBody> {
  const { skipped, system } = about;
  const { fileDocument, documentPaths } = await import('../../app/ingest-files.ts');
  const { maxDocumentBytes } = session.config().knowledge;
  const onSkipped = (kind: 'link' | 'special') => {
    skipped[kind === 'link' ? 'links' : 'special'] += 1;
  };
  for (const path of paths)
    if (path === '-') yield { name: 'standard input', body: { text: await session.io.readStdin() } };
    else
      for await (const { path: file, problem } of documentPaths(path, session.io.cwd, onSkipped))
        yield {
          name: file,
          body: () =>
            problem === undefined
              ? fileDocument(file, maxDocumentBytes)
              : Promise.reject(new CoreError('INPUT_INVALID', problem)),
        };
  if (options.vault === undefined) return;
  const { documentsOfVault } = await import('../../app/vault-artifacts.ts');
  for await (const body of documentsOfVault(choiceOf(session, options), system))
    yield { name: body.source_id, body };
}
