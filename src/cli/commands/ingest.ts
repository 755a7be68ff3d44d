// headworks ingest: ingests documents, or estimates the cost; then waits until the server has read them.
import type { Artifact, IngestEstimate, IngestResult } from '../../api/artifacts.ts';
import type { ApiInput } from '../../api/client.ts';
import { callApi } from '../../api/client.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { CoreError, HeadworksError, messageOf } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { followJob, startProgress } from '../follow-job.ts';
import type { Output } from '../output.ts';
import { counted, printable } from '../output.ts';
import type { CliSession } from '../session.ts';
import { createFolders } from './spaces.ts';
import { choiceOf } from './vault.ts';
import type { IngestVaultOptions, MissingItems } from './ingest-vault.ts';
import { missingItems, systemOfVault } from './ingest-vault.ts';
import { addSpaceOptions, spaceFieldsOf } from './spaces.ts';

interface IngestOptions extends IngestVaultOptions {
  readonly type?: ArtifactInput['type'];
  readonly title?: string;
  readonly sourceId?: string;
  readonly estimate?: boolean;
  readonly wait: boolean;
  readonly watch?: boolean;
  readonly schedule?: string;
}

type ArtifactInput = NonNullable<ApiInput<'POST /api/v1/knowledge/artifacts'>['body']>;

export function register(command: CliCommand): void {
  addSpaceOptions(command.argument('[paths...]', 'files and folders; - reads text from standard input'))
    .option('--vault <file>', 'ingest the items of a vault, with owners, folders, models and explores')
    .option('--delete-missing', 'with --vault: delete documents whose items are gone at the source')
    .option(
      '--type <type>',
      'type of the documents: email, doc, chat, transcript or note; default: by the kind of file',
    )
    .option('--title <title>', 'title of the document; default: the title in it, or its name')
    .option('--source-id <id>', 'id at the source: the same id with other content is a new revision')
    .option('--estimate', 'only estimate the number of calls and tokens')
    .option('--no-wait', 'return before the documents are read')
    .option('--watch', 'have the server watch these folders from now on ("headworks folders")')
    .option('--schedule <cron>', 'have the server scan these folders on a schedule: five fields, UTC');
  command.examples([
    'headworks ingest notes/ minutes.docx mail.eml',
    'headworks ingest notes/ --estimate',
    'headworks ingest --vault looker.vault --space bi',
    'headworks ingest --vault looker.vault --delete-missing',
    'pbpaste | headworks ingest - --title "Call with Acme" --type transcript',
    'headworks ingest /srv/notes --schedule "0 3 * * *"',
  ]);
  command.run<IngestOptions>(ingest);
}

async function ingest(
  session: CliSession,
  options: IngestOptions,
  paths: readonly string[],
): Promise<ExitCode | void> {
  if (paths.length === 0 && options.vault === undefined)
    throw new CoreError(
      'INPUT_INVALID',
      'Name files or folders, or a vault with --vault; - reads standard input.',
    );
  if (options.watch === true || options.schedule !== undefined) return createFolders(session, options, paths);
  if (options.deleteMissing === true && options.vault === undefined)
    throw new CoreError(
      'INPUT_INVALID',
      '--delete-missing needs --vault, --watch or --schedule. "headworks artifacts delete ID" deletes one document.',
    );
  const skipped = { links: 0, special: 0 };
  const documents: Documents = {
    skipped,
    bodies: (system) => readDocuments(session, options, paths, { skipped, system }),
  };
  return options.estimate === true
    ? estimateAll(session, options, documents)
    : ingestAll(session, options, documents);
}

/** Reads documents one after the other, each only when it is needed. */
async function* readDocuments(
  session: CliSession,
  options: IngestOptions,
  paths: readonly string[],
  { skipped, system }: { readonly skipped: { links: number; special: number }; readonly system?: string },
): AsyncGenerator<IngestBody> {
  const { fileDocument, documentPaths } = await import('../../app/ingest-documents.ts');
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
  const { documentsOfVault } = await import('../../app/ingest-documents.ts');
  for await (const body of documentsOfVault(choiceOf(session, options), system))
    yield { name: body.source_id, body: { ...body, mentions: [...body.mentions] } };
}

interface Documents {
  /** `system`: the name of the vault in the space. */
  readonly bodies: (system?: string) => AsyncIterable<IngestBody>;
  /** Entries of folders that are neither files nor folders; complete when all bodies were read. */
  readonly skipped: Skipped;
}

interface Skipped {
  readonly links: number;
  /** Pipes, sockets, devices. */
  readonly special: number;
}

interface IngestBody {
  readonly name: string;
  readonly body: ArtifactInput | (() => Promise<ArtifactInput>);
}

interface Failure {
  readonly name: string;
  readonly code: string;
  readonly message: string;
}

interface Ingested extends IngestResult {
  readonly name: string;
}

const nothingMissing: MissingItems = { missing: [], deleted: 0, problems: [] };

/** Documents that were ingested stay when another one fails; the exit code is 4 then. */
function ingestAll(
  session: CliSession,
  options: IngestOptions,
  { bodies, skipped }: Documents,
): Promise<ExitCode> {
  return session.withClient(async (client) => {
    const system = options.vault === undefined ? undefined : await systemOfVault(session, client, options);
    const ingested: Ingested[] = [];
    const failures: Failure[] = [];
    const progress = startProgress(session, 'Ingesting');
    for await (const each of bodies(system)) {
      const failure = await attempt(each, async (body) => {
        const result = await callApi(client, 'POST /api/v1/knowledge/artifacts', {
          body: withOptions(body, options),
        });
        ingested.push({ name: each.name, ...result });
      });
      if (failure) failures.push(failure);
      progress.show({ done: ingested.length + failures.length, total: null, message: each.name });
    }
    progress.end();
    const gone = system === undefined ? nothingMissing : await missingItems(session, client, options, system);
    const read = options.wait ? await waitForAll(session, client, options, ingested) : [];
    const degraded = read.filter(({ status }) => status.missing.length > 0);
    printOutcome(
      session.out,
      { ingested, failures, degraded, fallbacks: fallbacksOf(read), gone, skipped },
      options.wait,
    );
    if (ingested.length === 0 && failures.length > 0) return exitCodes.error;
    return failures.length + degraded.length > 0 ? exitCodes.incomplete : exitCodes.ok;
  });
}

function estimateAll(
  session: CliSession,
  options: IngestOptions,
  { bodies, skipped }: Documents,
): Promise<ExitCode> {
  return session.withClient(async (client) => {
    const sum: EstimateSum = { documents: 0, ...nothingToDo };
    const failures: Failure[] = [];
    for await (const each of bodies(undefined)) {
      const failure = await attempt(each, async (body) => {
        const estimate = await callApi(client, 'POST /api/v1/knowledge/artifacts/estimate', {
          body: withOptions(body, options),
        });
        sum.documents += 1;
        for (const key of estimateKeys) sum[key] += estimate[key];
      });
      if (failure) failures.push(failure);
    }
    const { out } = session;
    if (out.isJson) out.json({ ...sum, failures, skipped });
    else {
      for (const line of estimateLines(sum)) out.line(line);
      printSkipped(out, skipped);
      printFailures(out, failures);
    }
    if (sum.documents === 0 && failures.length > 0) return exitCodes.error;
    return failures.length > 0 ? exitCodes.incomplete : exitCodes.ok;
  });
}

const nothingToDo: IngestEstimate = {
  chunks: 0,
  tokens: 0,
  model_calls: 0,
  prompt_tokens: 0,
  completion_tokens: 0,
  embedding_calls: 0,
};
const estimateKeys = Object.keys(nothingToDo) as (keyof IngestEstimate)[];

type EstimateSum = IngestEstimate & { documents: number };

function estimateLines(sum: EstimateSum): readonly string[] {
  const size = `${counted(sum.documents, 'document')}: ${counted(sum.chunks, 'chunk')}, about ${counted(sum.tokens, 'token')} of text.`;
  const vectors =
    sum.embedding_calls === 0 ? 'no embeddings' : counted(sum.embedding_calls, 'embedding call');
  if (sum.model_calls === 0) return [`${size} Read by rules, no model is called; ${vectors}.`];
  return [
    `${size} Reading calls a model ${counted(sum.model_calls, 'time')}, with about ${counted(sum.prompt_tokens, 'prompt token')} and ${counted(sum.completion_tokens, 'completion token')}; ${vectors}.`,
    'Calls to resolve entities are not included.',
  ];
}

/** A rejected or unreadable document is reported and skipped; an unreachable server ends the command. */
async function attempt(
  { name, body }: IngestBody,
  work: (body: ArtifactInput) => Promise<void>,
): Promise<Failure | null> {
  try {
    await work(typeof body === 'function' ? await body() : body);
    return null;
  } catch (error) {
    if (!(error instanceof HeadworksError) || error.isRetryable || !isDocumentError(error.code)) throw error;
    return { name, code: error.code, message: messageOf(error) };
  }
}

const isDocumentError = (code: string): boolean =>
  ['INPUT_INVALID', 'KNOWLEDGE_DOCUMENT_UNREADABLE', 'HTTP_BODY_TOO_LARGE', 'INTERNAL'].includes(code);

const withOptions = (body: ArtifactInput, options: IngestOptions): ArtifactInput => ({
  ...body,
  ...(options.type && { type: options.type }),
  ...(options.title !== undefined && { title: options.title }),
  ...(options.sourceId !== undefined && { source_id: options.sourceId }),
  ...spaceFieldsOf(options),
});

/** Without its text: a folder may be larger than memory. */
type IngestedDocument = Pick<Artifact, 'id' | 'title' | 'status'>;

/** Waits for the jobs; returns the status of the documents afterwards. */
async function waitForAll(
  session: CliSession,
  client: HeadworksClient,
  options: IngestOptions,
  ingested: readonly Ingested[],
): Promise<readonly IngestedDocument[]> {
  const { io } = session;
  const waiting = ingested.filter(({ job_id }) => job_id !== null);
  const progress = startProgress(session, 'Reading');
  const read: IngestedDocument[] = [];
  for (const [index, { job_id, id, name }] of waiting.entries()) {
    await followJob(client, job_id ?? '', { clock: io.clock, signal: io.signal, onChange: () => undefined });
    const { title, status } = await callApi(client, 'GET /api/v1/knowledge/artifacts/:id', {
      params: { id },
      query: spaceFieldsOf(options),
    });
    read.push({ id, title, status });
    progress.show({ done: index + 1, total: waiting.length, message: name });
  }
  progress.end();
  return read;
}

/** Chunks read by rules because a model failed. */
interface Fallbacks {
  readonly documents: number;
  readonly chunks: number;
  readonly causes: readonly string[];
}

function fallbacksOf(read: readonly IngestedDocument[]): Fallbacks {
  const all = read.flatMap(({ status }) => status.model_fallbacks);
  return {
    documents: read.filter(({ status }) => status.model_fallbacks.length > 0).length,
    chunks: all.reduce((sum, { positions }) => sum + positions.length, 0),
    causes: [...new Set(all.map(({ cause }) => cause))].toSorted(),
  };
}

interface Outcome {
  readonly ingested: readonly Ingested[];
  readonly failures: readonly Failure[];
  readonly degraded: readonly IngestedDocument[];
  readonly fallbacks: Fallbacks;
  readonly gone: MissingItems;
  readonly skipped: Skipped;
}

function printOutcome(
  out: Output,
  { ingested, failures, degraded, fallbacks, gone, skipped }: Outcome,
  hasWaited: boolean,
): void {
  if (out.isJson) {
    const degradedDocuments = degraded.map(({ id, status }) => ({ id, missing: status.missing }));
    out.json({
      artifacts: ingested,
      failures,
      degraded: degradedDocuments,
      model_fallbacks: fallbacks,
      skipped,
      missing: gone.missing,
      deleted: gone.deleted,
      problems: gone.problems,
    });
    return;
  }
  const count = (outcome: string) => ingested.filter((each) => each.outcome === outcome).length;
  out.line(`${count('added')} added, ${count('revised')} revised, ${count('unchanged')} unchanged.`);
  printFailures(out, failures);
  printSkipped(out, skipped);
  printMissing(out, gone);
  for (const { title, id } of degraded)
    out.line(`Parts of "${printable(title)}" are missing: see "headworks artifacts get ${id}".`);
  if (fallbacks.chunks > 0)
    out.line(
      `A model failed (${fallbacks.causes.join(', ')}), so rules read ${counted(fallbacks.chunks, 'chunk')} of ${counted(fallbacks.documents, 'document')}: ` +
        'fewer mentions and events, at lower confidence. Run "headworks models" to see why, and "headworks repair" to retry.',
    );
  if (!hasWaited && ingested.length > 0)
    out.note('The documents can be searched; they are read in the background.');
}

function printFailures(out: Output, failures: readonly Failure[]): void {
  for (const { name, message } of failures)
    out.line(printable(message.includes(name) ? message : `${name}: ${message}`));
}

function printSkipped(out: Output, { links, special }: Skipped): void {
  if (links > 0) out.line(`Skipped: ${counted(links, 'symbolic link')}. Name their targets to ingest them.`);
  if (special > 0)
    out.line(`Skipped: ${counted(special, 'pipe, socket or device', 'pipes, sockets or devices')}.`);
}

/** Maximum lines of missing items; --json has all. */
const maxShown = 100;

function printMissing(out: Output, { missing, deleted, problems }: MissingItems): void {
  if (deleted > 0) out.line(`${counted(deleted, 'document')} of missing items deleted.`);
  for (const problem of problems) out.line(problem);
  for (const { source_id, id } of missing.slice(0, maxShown))
    out.line(
      `${printable(source_id)} is gone at the source; its document is kept: headworks artifacts delete ${id}`,
    );
  if (missing.length > maxShown) out.line(`… and ${missing.length - maxShown} more.`);
  if (missing.length > 0 && problems.length === 0) out.note('--delete-missing deletes them.');
}
