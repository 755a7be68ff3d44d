// Takes documents in one after the other, or only estimates; then waits until the server has read them.
import type { Artifact, IngestEstimate, IngestResult } from '../../api/artifacts.ts';
import type { HeadworksClient } from '../../app/client/session.ts';
import { HeadworksError, messageOf } from '../../core/index.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import { followJob, startProgress } from '../follow-job.ts';
import { counted, printable } from '../output.ts';
import type { CliSession } from '../session.ts';
import type { MissingItems, VaultOptions } from './ingest-vault.ts';
import { missingItems, systemOfVault } from './ingest-vault.ts';
import { knowledgePath, spaceFieldsOf } from './knowledge-space.ts';

export interface IngestOptions extends VaultOptions {
  readonly type?: string;
  readonly title?: string;
  readonly sourceId?: string;
  readonly estimate?: boolean;
  readonly wait: boolean;
  readonly watch?: boolean;
  readonly schedule?: string;
}

/** What is to be taken in. */
export interface Documents {
  /** Of a vault under the name that the space has for it, or will have. */
  readonly bodies: (system: string | undefined) => AsyncIterable<IngestBody>;
  /** What was neither a file nor a folder in the folders gone through so far. */
  readonly skipped: Skipped;
}

interface Skipped {
  readonly links: number;
  /** Pipes, sockets, devices. */
  readonly special: number;
}

export interface IngestBody {
  readonly name: string;
  readonly body: object | (() => Promise<object>);
}

interface Failure {
  readonly name: string;
  readonly code: string;
  readonly message: string;
}

interface Taken extends IngestResult {
  readonly name: string;
}

const nothingGone: MissingItems = { missing: [], removed: 0, problems: [] };

/** What was taken stays taken when something else fails; the exit code says that not all is in. */
export function ingestAll(
  session: CliSession,
  options: IngestOptions,
  { bodies, skipped }: Documents,
): Promise<ExitCode> {
  return session.withClient(async (client) => {
    const system = options.vault === undefined ? undefined : await systemOfVault(session, client, options);
    const taken: Taken[] = [];
    const failures: Failure[] = [];
    const progress = startProgress(session, 'Taking in');
    for await (const each of bodies(system)) {
      const failure = await attempt(each, async (body) => {
        const answer = await post<IngestResult>(session, client, options, '/artifacts', body);
        taken.push({ name: each.name, ...answer });
      });
      if (failure) failures.push(failure);
      progress.show({ done: taken.length + failures.length, total: null, message: each.name });
    }
    progress.end();
    const gone = system === undefined ? nothingGone : await missingItems(session, client, options, system);
    const read = options.wait ? await waitForAll(session, client, options, taken) : [];
    const partial = read.filter(({ status }) => status.missing.length > 0);
    report(session, { taken, failures, partial, fallbacks: standInsOf(read), gone, skipped }, options.wait);
    if (taken.length === 0 && failures.length > 0) return exitCodes.error;
    return failures.length + partial.length > 0 ? exitCodes.incomplete : exitCodes.ok;
  });
}

export function estimateAll(
  session: CliSession,
  options: IngestOptions,
  { bodies, skipped }: Documents,
): Promise<ExitCode> {
  return session.withClient(async (client) => {
    const sum: EstimateSum = { documents: 0, ...nothingToDo };
    const failures: Failure[] = [];
    for await (const each of bodies(undefined)) {
      const failure = await attempt(each, async (body) => {
        const answer = await post<IngestEstimate>(session, client, options, '/artifacts/estimate', body);
        sum.documents += 1;
        for (const key of estimateKeys) sum[key] += answer[key];
      });
      if (failure) failures.push(failure);
    }
    const { out } = session;
    if (out.isJson) out.json({ ...sum, failures, skipped });
    else {
      for (const line of estimateLines(sum)) out.line(line);
      showSkipped(session, skipped);
      showFailures(session, failures);
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
    sum.embedding_calls === 0
      ? 'no vectors are made'
      : counted(sum.embedding_calls, 'call makes vectors', 'calls make vectors');
  if (sum.model_calls === 0) return [`${size} Extracted by rules, no model is called; ${vectors}.`];
  return [
    `${size} Reading asks a model ${counted(sum.model_calls, 'time')}, with about ${counted(sum.prompt_tokens, 'token')} asked and ${sum.completion_tokens} answered; ${vectors}.`,
    'Questions whether two names mean the same are not counted.',
  ];
}

/** A rejected or unreadable document is reported and skipped; an unreachable server ends the command. */
async function attempt(
  { name, body }: IngestBody,
  work: (body: object) => Promise<void>,
): Promise<Failure | null> {
  try {
    await work(typeof body === 'function' ? await body() : body);
    return null;
  } catch (error) {
    if (!(error instanceof HeadworksError) || error.isRetryable || !isOfDocument(error.code)) throw error;
    return { name, code: error.code, message: messageOf(error) };
  }
}

const isOfDocument = (code: string): boolean =>
  ['INPUT_INVALID', 'KNOWLEDGE_DOCUMENT_UNREADABLE', 'HTTP_BODY_TOO_LARGE', 'INTERNAL'].includes(code);

function post<T>(
  { io }: CliSession,
  client: HeadworksClient,
  options: IngestOptions,
  path: string,
  body: object,
): Promise<T> {
  const { type, title, sourceId } = options;
  return client.call<T>('POST', knowledgePath + path, {
    body: {
      ...body,
      ...(type === undefined ? {} : { type }),
      ...(title === undefined ? {} : { title }),
      ...(sourceId === undefined ? {} : { source_id: sourceId }),
      ...spaceFieldsOf(options),
    },
    signal: io.signal,
  });
}

/** Without its text: a folder may be larger than memory. */
type Read = Pick<Artifact, 'id' | 'title' | 'status'>;

/** What became of those that were read, after their jobs have ended. */
async function waitForAll(
  session: CliSession,
  client: HeadworksClient,
  options: IngestOptions,
  taken: readonly Taken[],
): Promise<readonly Read[]> {
  const { io } = session;
  const waiting = taken.filter(({ job_id }) => job_id !== null);
  const progress = startProgress(session, 'Reading');
  const read: Read[] = [];
  for (const [index, { job_id, id, name }] of waiting.entries()) {
    await followJob(client, job_id ?? '', { clock: io.clock, signal: io.signal, onChange: () => undefined });
    const artifact = await client.call<Artifact>('GET', `${knowledgePath}/artifacts/${id}`, {
      query: spaceFieldsOf(options),
      signal: io.signal,
    });
    const { title, status } = artifact;
    read.push({ id, title, status });
    progress.show({ done: index + 1, total: waiting.length, message: name });
  }
  progress.end();
  return read;
}

/** Chunks extracted by rules because a model failed. */
interface StandIns {
  readonly documents: number;
  readonly chunks: number;
  readonly causes: readonly string[];
}

function standInsOf(read: readonly Read[]): StandIns {
  const all = read.flatMap(({ status }) => status.model_fallbacks);
  return {
    documents: read.filter(({ status }) => status.model_fallbacks.length > 0).length,
    chunks: all.reduce((sum, { positions }) => sum + positions.length, 0),
    causes: [...new Set(all.map(({ cause }) => cause))].toSorted(),
  };
}

interface Outcome {
  readonly taken: readonly Taken[];
  readonly failures: readonly Failure[];
  readonly partial: readonly Read[];
  readonly fallbacks: StandIns;
  readonly gone: MissingItems;
  readonly skipped: Skipped;
}

function report(
  session: CliSession,
  { taken, failures, partial, fallbacks, gone, skipped }: Outcome,
  hasWaited: boolean,
): void {
  const { out } = session;
  if (out.isJson) {
    const missing = partial.map(({ id, status }) => ({ id, missing: status.missing }));
    out.json({
      artifacts: taken,
      failures,
      partial: missing,
      model_fallbacks: fallbacks,
      skipped,
      gone: gone.missing,
      gone_removed: gone.removed,
      gone_problems: gone.problems,
    });
    return;
  }
  const count = (outcome: string) => taken.filter((each) => each.outcome === outcome).length;
  out.line(`${count('added')} added, ${count('revised')} revised, ${count('unchanged')} unchanged.`);
  showFailures(session, failures);
  showSkipped(session, skipped);
  showGone(session, gone);
  for (const { title, id } of partial)
    out.line(`Not everything of "${printable(title)}" is in: see "headworks artifacts get ${id}".`);
  if (fallbacks.chunks > 0)
    out.line(
      `A model failed (${fallbacks.causes.join(', ')}), so rules extracted ${counted(fallbacks.chunks, 'chunk')} of ${counted(fallbacks.documents, 'document')}: ` +
        'fewer mentions and events, at lower confidence. Run "headworks models" to see why, and "headworks repair" to retry.',
    );
  if (!hasWaited && taken.length > 0)
    out.note('They can be searched already, and are read in the background.');
}

function showFailures({ out }: CliSession, failures: readonly Failure[]): void {
  for (const { name, message } of failures)
    out.line(printable(message.includes(name) ? message : `${name}: ${message}`));
}

function showSkipped({ out }: CliSession, { links, special }: Skipped): void {
  if (links > 0)
    out.line(`Left out: ${counted(links, 'link')}, as links may lead anywhere. Name what they lead to.`);
  if (special > 0)
    out.line(`Left out: ${counted(special, 'pipe, socket or device', 'pipes, sockets or devices')}.`);
}

/** Maximum lines of missing items; --json has all. */
const mostShown = 100;

function showGone({ out }: CliSession, { missing, removed, problems }: MissingItems): void {
  if (removed > 0) out.line(`${counted(removed, 'document')} of items that are gone at the source removed.`);
  for (const problem of problems) out.line(problem);
  for (const { source_id, id } of missing.slice(0, mostShown))
    out.line(
      `${printable(source_id)} is gone at the source; its document stays: headworks artifacts delete ${id}`,
    );
  if (missing.length > mostShown) out.line(`… and ${missing.length - mostShown} more.`);
  if (missing.length > 0 && problems.length === 0) out.note('--remove-missing removes them.');
}
