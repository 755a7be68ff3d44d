// headworks vault: read, compare, export and prune vaults.
import { resolve } from 'node:path';
import type * as vaultTools from '../../extraction/vault/index.ts';
import type { DeadLetter, ItemChange, VaultReader, VerifyReport } from '../../extraction/vault/index.ts';
import { CoreError, formatBytes, toSnakeCase } from '../../core/index.ts';
import type { CliCommand } from '../command.ts';
import { wholeNumber } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import { exitCodes } from '../exit-codes.ts';
import type { Output } from '../output.ts';
import { counted, isoMoment, printable } from '../output.ts';
import type { CliSession } from '../session.ts';

export function register(group: CliCommand): void {
  registerList(group);
  registerGet(group);
  registerVerify(group);
  registerDiff(group);
  registerExport(group);
  registerPrune(group);
}

export interface VaultOptions {
  readonly vault?: string;
}

const addVaultOption = (command: CliCommand): CliCommand =>
  command.option('--vault <file>', 'vault file; default: the only one in the data folder');

export const choiceOf = (session: CliSession, { vault }: VaultOptions): vaultTools.VaultChoice => ({
  file: vault,
  cwd: session.io.cwd,
  dataFolder: session.config().data.folder,
});

type Tools = typeof vaultTools;

/** Runs `work` with the vault opened for reading, and with the functions of extraction/vault. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- as with `action`, the caller states the type of its options
function reading<Options extends VaultOptions>(
  command: CliCommand,
  work: (
    session: CliSession,
    reader: VaultReader,
    call: { readonly options: Options; readonly args: readonly string[]; readonly tools: Tools },
  ) => ExitCode | void | Promise<ExitCode | void>,
): void {
  addVaultOption(command);
  command.run<Options>(async (session, options, args) => {
    const tools = await import('../../extraction/vault/index.ts');
    return tools.withVault(choiceOf(session, options), (reader) => {
      if (reader.wasOlder) session.out.note(migratedText(reader.path));
      return work(session, reader, { options, args, tools });
    });
  });
}

/** Note of a reading command that migrated the vault. */
export const migratedText = (path: string): string =>
  `${path} was migrated from an older version. Older versions of Headworks can no longer read it.`;

/** A record for --json: snake_case names, moments in ISO 8601. Nested records stay as they are. */
const recordOf = (record: object): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(record).map(([name, value]: [string, unknown]) => [
      toSnakeCase(name),
      /At$|^at$/.test(name) && typeof value === 'number' ? isoMoment(value) : value,
    ]),
  );

interface ListOptions extends VaultOptions {
  readonly limit: number;
  readonly after?: string;
  readonly deleted?: boolean;
  readonly sessions?: boolean;
}

function registerList(group: CliCommand): void {
  const command = group
    .command('list', { isDefault: true })
    .argument('[type]', 'list the items of this type')
    .description('list types with counts, or the items of one type; with --sessions, list sessions')
    .option('--sessions', 'list extraction sessions, newest first')
    .option('--deleted', 'include deleted items')
    .option('--limit <number>', 'maximum number of items or sessions', wholeNumber(1, 10_000), 100)
    .option('--after <id>', 'continue after this item');
  command.examples([
    'headworks vault list',
    'headworks vault list dashboards --limit 20',
    'headworks vault list --sessions --json',
  ]);
  reading<ListOptions>(command, ({ out }, reader, { options, args: [type] }) => {
    if (type !== undefined) return printItems(out, reader, type, options);
    return options.sessions ? printSessions(out, reader, options.limit) : printTypes(out, reader);
  });
}

function printTypes(out: Output, reader: VaultReader): void {
  const source = reader.source();
  const types = reader.types();
  if (out.isJson) return out.json({ source, types: types.map(recordOf) });
  out.list(types, 'The vault is empty.', [
    'type',
    ['items', ({ live }) => live],
    'deleted',
    ['size', ({ bytes }) => formatBytes(bytes)],
    'session',
    ['state', ({ state: status, scope }) => (scope === null ? status : `${status} (${scope})`)],
    'completedAt',
    ['reason', ({ reason }) => reason ?? ''],
  ]);
  if (types.length > 0) out.note(`From ${source ?? 'no source yet'}.`);
}

function printItems(out: Output, reader: VaultReader, type: string, options: ListOptions): void {
  const { limit, after, deleted: withDeleted = false } = options;
  const found = reader.items(type, { limit: limit + 1, withDeleted, after });
  const items = found.slice(0, limit);
  const next = found.length > limit ? (items.at(-1)?.id ?? null) : null;
  if (out.isJson) return out.json({ items: items.map(recordOf), next });
  out.list(items, 'There are no such items.', [
    'id',
    'name',
    'owner',
    'folder',
    ['size', ({ size }) => formatBytes(size)],
    'updatedAt',
    'deletedAt',
  ]);
  out.nextPage(next);
}

function printSessions(out: Output, reader: VaultReader, limit: number): void {
  const sessions = reader.sessions(limit);
  if (out.isJson) return out.json({ sessions: sessions.map(recordOf) });
  out.list(sessions, 'Nothing was extracted yet.', [
    ['session', ({ number }) => number],
    'startedAt',
    'state',
    'totalItems',
    'totalCalls',
    'errors',
    ['workers', ({ workerCount }) => workerCount ?? 'sequential'],
    ['items/s', ({ throughputItemsPerSecond: rate }) => rate?.toFixed(1)],
    'id',
  ]);
}

interface GetOptions extends VaultOptions {
  readonly at?: number;
  readonly versions?: boolean;
}

function registerGet(group: CliCommand): void {
  const command = group
    .command('get')
    .argument('<type>')
    .argument('<id>')
    .description('get an item')
    .option('--at <version>', 'content in this version (see --versions)', wholeNumber(1, 1_000_000_000))
    .option('--versions', 'list its versions instead of its content');
  command.examples([
    'headworks vault get dashboards 42',
    'headworks vault get dashboards 42 --versions',
    'headworks vault get explores sales::orders --at 1 --json',
  ]);
  reading<GetOptions>(command, ({ out }, reader, { options, args: [type = '', id = ''], tools }) => {
    const item = reader.item(type, id);
    if (options.versions) return printVersions(out, reader, type, id);
    const { canonicalJson, parseJson } = tools;
    const text = reader.data(type, id, options.at);
    const data = text === null ? null : parseJson(text);
    const version = options.at === undefined ? {} : { version: options.at };
    if (out.isJson) return out.line(canonicalJson({ ...recordOf(item), ...version, data }));
    out.fields(item);
    out.line();
    if (text === null) return out.line('The item was deleted in this version.');
    for (const line of canonicalJson(data, 2).split('\n')) out.line(printable(line));
  });
}

function printVersions(out: Output, reader: VaultReader, type: string, id: string): void {
  const versions = reader.versions(type, id);
  if (out.isJson) return out.json({ type, id, versions: versions.map(recordOf) });
  out.list(versions, 'There are no versions.', [
    ['version', ({ number }) => number],
    'firstSeenAt',
    'session',
    ['size', ({ size }) => (size === null ? 'deleted' : formatBytes(size))],
    'hash',
  ]);
}

/** More are in the vault, and in --json. */
const maxDeadLetters = 20;

function registerVerify(group: CliCommand): void {
  const command = group
    .command('verify')
    .description('check every row, and every type against the total that the source reported')
    .addHelpText('after', '\nExits with 4 if items are damaged or missing.');
  command.examples(['headworks vault verify', 'headworks vault verify --vault acme.vault --json']);
  reading<VaultOptions>(command, ({ io, out, redactor }, reader, { tools }) => {
    const report = tools.verifyVault(reader, io.signal);
    const letters = reader.deadLetters().map((letter) => redactor.value(letter));
    if (out.isJson) out.json({ ...recordOf(report), dead_letters: letters.map(recordOf) });
    else printReport(out, report, letters);
    return report.problemCount === 0 ? exitCodes.ok : exitCodes.incomplete;
  });
}

function printReport(out: Output, report: VerifyReport, letters: readonly DeadLetter[]): void {
  const { checked, problems, problemCount } = report;
  for (const { kind, type, id, message } of problems) {
    const where = [type, id].filter((part) => part !== null).join(' ');
    const word = out.style(kind === 'damaged' ? 'red' : 'yellow', kind.padEnd(10));
    out.line(`${word}  ${printable(where === '' ? message : `${where}: ${message}`)}`);
  }
  if (problemCount > problems.length) out.line(`… and ${problemCount - problems.length} more.`);
  for (const { type, pageKey, cause, message } of letters.slice(0, maxDeadLetters))
    out.line(printable(`dead letter  ${type} ${pageKey}: ${cause}: ${message}`));
  if (letters.length > maxDeadLetters) out.line('… and more dead letters: see --json.');
  out.line(
    `Checked ${counted(checked.items, 'item')}, ${counted(checked.versions, 'version')} and ` +
      `${counted(checked.pages, 'page')}: ` +
      `${report.isSound ? 'nothing is damaged' : 'the vault is damaged'}, ` +
      `${report.isComplete ? 'nothing is missing' : 'something is missing'}.`,
  );
  if (!report.isSound) out.note('Restore the vault from a copy, or extract into a new file.');
  else if (!report.isComplete) out.note(remedy(letters));
}

/** Lists whose pagination is wrong: repeating the request does not help. */
const brokenLists = new Set(['repeated', 'short']);

function remedy(letters: readonly DeadLetter[]): string {
  // An incomplete parent is fixed with the parent.
  const causes = letters.map(({ cause }) => cause).filter((cause) => cause !== 'parent-incomplete');
  if (causes.length === 0)
    return 'Run "headworks extract" again; if something is still missing then, with --fresh.';
  return causes.every((cause) => brokenLists.has(cause))
    ? 'Correct the pagination of the source if it is wrong, and run "headworks extract" again with --fresh.'
    : 'Run "headworks extract" again with --retry-failed, or with --fresh.';
}

interface DiffOptions extends VaultOptions {
  readonly from?: string;
  readonly to?: string;
}

function registerDiff(group: CliCommand): void {
  const command = group
    .command('diff')
    .description('list items that were added, changed and deleted between two sessions')
    .option('--from <session>', 'number or id; 0 is the empty vault; default: the session before --to')
    .option('--to <session>', 'number or id; default: the newest');
  command.examples(['headworks vault diff', 'headworks vault diff --from 3 --to 7 --json']);
  reading<DiffOptions>(command, ({ io, out }, reader, { options, tools }) => {
    const { from, to } = bounds(reader, options);
    const counts = { added: 0, changed: 0, deleted: 0 };
    for (const change of tools.diffSessions(reader, from, to)) {
      if (io.outputClosed.aborted) return;
      io.signal.throwIfAborted();
      counts[change.kind] += 1;
      if (out.isJson) out.jsonLine(recordOf(change));
      else printChange(out, change);
    }
    if (out.isJson) return out.jsonLine({ from, to, ...counts });
    const { added, changed, deleted } = counts;
    out.line(`From session ${from} to ${to}: ${added} added, ${changed} changed, ${deleted} deleted.`);
  });
}

function bounds(reader: VaultReader, options: DiffOptions): { readonly from: number; readonly to: number } {
  const to = options.to === undefined ? newest(reader) : numberOf(reader, options.to);
  const from = options.from === undefined ? Math.max(to - 1, 0) : numberOf(reader, options.from);
  return { from, to };
}

function newest(reader: VaultReader): number {
  const [session] = reader.sessions(1);
  if (session) return session.number;
  throw new CoreError(
    'NOT_FOUND',
    `Nothing was extracted into ${reader.path} yet: there is nothing to compare.`,
  );
}

const numberOf = (reader: VaultReader, session: string): number =>
  session === '0' ? 0 : reader.session(session).number;

const changeStyles = {
  added: { color: 'green', sign: '+' },
  changed: { color: 'yellow', sign: '~' },
  deleted: { color: 'red', sign: '-' },
} as const;

function printChange(out: Output, { type, id, name, kind, fields, isPruned }: ItemChange): void {
  const { color, sign } = changeStyles[kind];
  out.line(out.style(color, printable(`${sign} ${type} ${id}${name === null ? '' : `  ${name}`}`)));
  if (isPruned) out.line('    (that version was pruned)');
  for (const { path, from, to } of fields)
    out.line(printable(`    ${path}: ${from ?? '(nothing)'} → ${to ?? '(nothing)'}`));
}

function registerExport(group: CliCommand): void {
  const command = group
    .command('export')
    .argument('<folder>')
    .description(
      'write one JSON file per item into a folder; unchanged files are kept, files of deleted items are deleted',
    );
  command.examples([
    'headworks vault export backup',
    'headworks vault export backup --vault acme.vault && git -C backup add --all',
  ]);
  reading<VaultOptions>(command, async ({ io, out }, reader, { args: [given = ''], tools }) => {
    const folder = resolve(io.cwd, given);
    const report = await tools.exportVault(reader, folder, io.signal);
    const incomplete = reader
      .types()
      .flatMap(({ type, state: status }) => (status === 'completed' ? [] : [type]));
    if (out.isJson) return out.json({ folder, ...recordOf(report), incomplete });
    const { written, unchanged, removed } = report;
    out.line(`${folder}: ${counted(written, 'file')} written, ${unchanged} unchanged, ${removed} deleted.`);
    if (incomplete.length > 0)
      out.note(`Incomplete in the vault: ${incomplete.join(', ')}. See "headworks vault verify".`);
  });
}

interface PruneOptions extends VaultOptions {
  readonly olderThan: number;
  readonly keep: number;
  readonly compact?: boolean;
}

function registerPrune(group: CliCommand): void {
  const command = addVaultOption(group.command('prune'))
    .description('delete old versions of items; the current version is always kept')
    .requiredOption(
      '--older-than <days>',
      'delete versions that were replaced more than this many days ago',
      wholeNumber(0, 36_500),
    )
    .option(
      '--keep <count>',
      'versions of each item to keep, the newest included',
      wholeNumber(1, 1_000_000),
      1,
    )
    .option('--compact', 'shrink the file as well; needs as much free space as the vault');
  command.examples([
    'headworks vault prune --older-than 90',
    'headworks vault prune --older-than 365 --keep 3 --compact',
  ]);
  command.run<PruneOptions>(async (session, options) => {
    const { out, io } = session;
    const tools = await import('../../extraction/vault/index.ts');
    const path = await tools.chooseVault(choiceOf(session, options));
    const { olderThan: olderThanDays, keep, compact = false } = options;
    const { clock, signal } = io;
    const report = await tools.pruneVault(path, { olderThanDays, keep }, { clock, signal, compact });
    if (out.isJson) return out.json({ vault: path, ...recordOf(report) });
    out.line(`${path}: ${counted(report.versions, 'old version')} (${formatBytes(report.bytes)}) deleted.`);
    if (report.versions > 0 && !compact)
      out.note('The file keeps its size and reuses the space; --compact shrinks it.');
  });
}
