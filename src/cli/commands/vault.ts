// headworks vault: read, compare, export and prune vaults.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type * as vaultTools from '../../app/vault.ts';
import type {
  DeadLetter,
  ItemChange,
  ItemRecord,
  SessionRecord,
  TypeRecord,
  VaultReader,
  VerifyReport,
  VersionRecord,
} from '../../app/vault.ts';
import { CoreError, toSnakeCase } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { wholeNumber } from '../number-argument.ts';
import { counted, humanMoment, printable, sizeText } from '../output.ts';
import type { CliSession } from '../session.ts';

export interface VaultOption {
  readonly vault?: string;
}

type VaultTools = typeof vaultTools;

export function addVaultOption(command: Command): Command {
  return command.option('--vault <file>', 'the vault; default: the only one in the data folder');
}

/** Opens the vault for reading; `tools` is what the application can do with it. */
export async function readVault<T>(
  session: CliSession,
  { vault }: VaultOption,
  work: (reader: vaultTools.VaultReader, tools: VaultTools) => T | Promise<T>,
): Promise<T> {
  const dataFolder = session.config().data.folder;
  const tools = await import('../../app/vault.ts');
  return tools.withVault({ file: vault, cwd: session.io.cwd, dataFolder }, (reader) => {
    if (reader.wasOlder) session.out.note(updatedText(reader.path));
    return work(reader, tools);
  });
}

/** What a command that only reads did to the vault all the same. */
export const updatedText = (path: string): string =>
  `${path} was of an older version and was brought up to date. Older versions of Headworks can no longer read it.`;

/** The file that is meant, for a command that does not only read it. */
export async function chosenVault(
  session: CliSession,
  { vault }: VaultOption,
): Promise<{ readonly path: string; readonly tools: VaultTools }> {
  const dataFolder = session.config().data.folder;
  const tools = await import('../../app/vault.ts');
  return { path: await tools.chooseVault({ file: vault, cwd: session.io.cwd, dataFolder }), tools };
}

/** A record as programs get it: names as in the tables, moments in ISO 8601. Nested records are left as they are. */
export function answerOf(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]: [string, unknown]) => [
      toSnakeCase(name),
      /At$|^at$/.test(name) && typeof value === 'number' ? isoMoment(value) : value,
    ]),
  );
}

/** `3 min ago`; a dash for no moment at all. */
export const moment = ({ io }: CliSession, at: number | null): string =>
  humanMoment(at === null ? null : isoMoment(at), io.clock.now());

/** Null for what a source gave as a moment and is none. */
export function isoMoment(at: number): string | null {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

export function registerVault(program: Command, host: CommandHost): void {
  const group = program.command('vault').description('look into the file that extractions write');
  examples(group, [
    'headworks vault list',
    'headworks vault verify --vault acme.vault',
    'headworks vault diff',
  ]);
  for (const register of [
    registerVaultList,
    registerVaultShow,
    registerVaultVerify,
    registerVaultDiff,
    registerVaultExport,
    registerVaultPrune,
  ])
    register(group, host);
}

interface DiffOptions extends VaultOption {
  readonly from?: string;
  readonly to?: string;
}

export function registerVaultDiff(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('diff'))
    .description('what was added, changed and deleted between two extractions')
    .option('--from <session>', 'number or id; 0 is the empty vault; default: the session before --to')
    .option('--to <session>', 'number or id; default: the newest');
  examples(command, ['headworks vault diff', 'headworks vault diff --from 3 --to 7 --json']);
  act<DiffOptions>(host, command, async (session, options) => {
    await readVault(session, options, (reader, { diffSessions }) => {
      const { from, to } = bounds(reader, options);
      const counts = { added: 0, changed: 0, deleted: 0 };
      for (const change of diffSessions(reader, from, to)) {
        if (session.io.outputClosed.aborted) return;
        session.io.signal.throwIfAborted();
        counts[change.kind] += 1;
        if (session.out.isJson) session.out.jsonLine(answerOf(change));
        else printChange(session, change);
      }
      if (session.out.isJson) session.out.jsonLine({ from, to, ...counts });
      else
        session.out.line(
          `From session ${from} to ${to}: ${counts.added} added, ${counts.changed} changed, ${counts.deleted} deleted.`,
        );
    });
    return exitCodes.ok;
  });
}

function bounds(reader: VaultReader, options: DiffOptions): { readonly from: number; readonly to: number } {
  const to = options.to === undefined ? newest(reader).number : numberOf(reader, options.to);
  const from = options.from === undefined ? Math.max(to - 1, 0) : numberOf(reader, options.from);
  return { from, to };
}

function newest(reader: VaultReader): SessionRecord {
  const [session] = reader.sessions(1);
  if (session) return session;
  throw new CoreError(
    'NOT_FOUND',
    `Nothing was extracted into ${reader.path} yet: there is nothing to compare.`,
  );
}

const numberOf = (reader: VaultReader, session: string): number =>
  session === '0' ? 0 : reader.session(session).number;

const looks = {
  added: { color: 'green', sign: '+' },
  changed: { color: 'yellow', sign: '~' },
  deleted: { color: 'red', sign: '-' },
} as const;

function printChange({ out }: CliSession, { type, id, name, kind, fields, isPruned }: ItemChange): void {
  const { color, sign } = looks[kind];
  out.line(out.style(color, printable(`${sign} ${type} ${id}${name === null ? '' : `  ${name}`}`)));
  if (isPruned) out.line('    (what it was then was pruned)');
  for (const { path, from, to } of fields)
    out.line(printable(`    ${path}: ${from ?? '(nothing)'} → ${to ?? '(nothing)'}`));
}

export function registerVaultExport(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('export').argument('<folder>')).description(
    'write one JSON file per item; only what changed is written, what is gone is removed',
  );
  examples(command, [
    'headworks vault export backup',
    'headworks vault export backup --vault acme.vault && git -C backup add --all',
  ]);
  act<VaultOption>(host, command, async (session, options, [given = '']) => {
    const { out, io } = session;
    const folder = resolve(io.cwd, given);
    await readVault(session, options, async (reader, { exportVault }) => {
      const report = await exportVault(reader, folder, io.signal);
      const open = reader.types().filter(({ status }) => status !== 'completed');
      if (out.isJson)
        return out.json({ folder, ...answerOf(report), incomplete: open.map(({ type }) => type) });
      const { written, unchanged, removed } = report;
      out.line(`${folder}: ${counted(written, 'file')} written, ${unchanged} unchanged, ${removed} removed.`);
      if (open.length > 0)
        out.note(
          `Not complete in the vault: ${open.map(({ type }) => type).join(', ')}. See "headworks vault verify".`,
        );
    });
    return exitCodes.ok;
  });
}

interface ListOptions extends VaultOption {
  readonly limit: number;
  readonly after?: string;
  readonly deleted?: boolean;
  readonly sessions?: boolean;
}

export function registerVaultList(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('list', { isDefault: true }).argument('[type]'))
    .description('types with their counts; with a type, its items; with --sessions, the extractions')
    .option('--sessions', 'the extractions that wrote it, newest first')
    .option('--deleted', 'also items that are no longer there')
    .option('--limit <count>', 'how many items or sessions at most', wholeNumber(1, 10_000), 100)
    .option('--after <id>', 'continue after this item');
  examples(command, [
    'headworks vault list',
    'headworks vault list dashboards --limit 20',
    'headworks vault list --sessions --json',
  ]);
  act<ListOptions>(host, command, async (session, options, [type]) => {
    await readVault(session, options, (reader) => {
      if (type !== undefined) {
        const { limit, after, deleted = false } = options;
        const query = { limit: limit + 1, withDeleted: deleted, ...(after === undefined ? {} : { after }) };
        showItems(session, reader.items(type, query), limit);
      } else if (options.sessions) showSessions(session, reader.sessions(options.limit));
      else showTypes(session, reader.source(), reader.types());
    });
    return exitCodes.ok;
  });
}

function showTypes(session: CliSession, source: string | null, types: readonly TypeRecord[]): void {
  const { out } = session;
  if (out.isJson) return out.json({ source, types: types.map(answerOf) });
  if (types.length === 0) return out.line('The vault is empty.');
  out.table(
    ['TYPE', 'ITEMS', 'DELETED', 'SIZE', 'SESSION', 'STATUS', 'READ', 'WHY'],
    types.map((type) => [
      type.type,
      String(type.live),
      String(type.deleted),
      sizeText(type.bytes),
      String(type.session),
      type.scope === null ? type.status : `${type.status} (${type.scope})`,
      moment(session, type.completedAt),
      type.reason ?? '',
    ]),
    (text, column, row) => {
      if (column !== 5) return text;
      return out.style(types[row]?.status === 'completed' ? 'green' : 'yellow', text);
    },
  );
  out.note(`From ${source ?? 'no source yet'}.`);
}

function showItems(session: CliSession, found: readonly ItemRecord[], limit: number): void {
  const { out } = session;
  const items = found.slice(0, limit);
  const next = found.length > limit ? (items.at(-1)?.id ?? null) : null;
  if (out.isJson) return out.json({ items: items.map(answerOf), next });
  if (items.length === 0) return out.line('There are no such items.');
  out.table(
    ['ID', 'NAME', 'OWNER', 'FOLDER', 'SIZE', 'UPDATED', 'DELETED'],
    items.map((item) => [
      item.id,
      item.name ?? '–',
      item.owner ?? '–',
      item.folder ?? '–',
      sizeText(item.size),
      moment(session, item.updatedAt),
      moment(session, item.deletedAt),
    ]),
  );
  if (next !== null) out.note(`There are more: add --after '${next}'`);
}

function showSessions(session: CliSession, sessions: readonly SessionRecord[]): void {
  const { out } = session;
  if (out.isJson) return out.json({ sessions: sessions.map(answerOf) });
  if (sessions.length === 0) return out.line('Nothing was extracted yet.');
  out.table(
    ['SESSION', 'STARTED', 'STATUS', 'ITEMS', 'CALLS', 'ERRORS', 'WORKERS', 'ITEMS/S', 'ID'],
    sessions.map((one) => [
      String(one.number),
      moment(session, one.startedAt),
      one.status,
      String(one.totalItems),
      String(one.totalCalls),
      String(one.errors),
      String(one.workerCount ?? 'sequential'),
      one.throughputItemsPerSecond === null ? '–' : one.throughputItemsPerSecond.toFixed(1),
      one.id,
    ]),
  );
}

interface PruneOptions extends VaultOption {
  readonly olderThan: number;
  readonly keep: number;
  readonly compact?: boolean;
}

export function registerVaultPrune(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('prune'))
    .description('delete old versions of items; what an item is now always stays')
    .requiredOption(
      '--older-than <days>',
      'versions that were replaced longer ago than this go',
      wholeNumber(0, 36_500),
    )
    .option(
      '--keep <count>',
      'but so many of each item stay, the newest included',
      wholeNumber(1, 1_000_000),
      1,
    )
    .option('--compact', 'make the file smaller too; takes as much room again while it works');
  examples(command, [
    'headworks vault prune --older-than 90',
    'headworks vault prune --older-than 365 --keep 3 --compact',
  ]);
  act<PruneOptions>(host, command, async (session, options) => {
    const { out, io } = session;
    const { path, tools } = await chosenVault(session, options);
    const { olderThan: olderThanDays, keep, compact = false } = options;
    const { clock, signal } = io;
    const report = await tools.pruneVault(path, { olderThanDays, keep }, { clock, signal, compact });
    if (out.isJson) out.json({ vault: path, ...answerOf(report) });
    else {
      out.line(`${path}: ${counted(report.versions, 'old version')} (${sizeText(report.bytes)}) deleted.`);
      if (report.versions > 0 && !compact)
        out.note('The file keeps its size and uses the room again; --compact makes it smaller.');
    }
    return exitCodes.ok;
  });
}

interface ShowOptions extends VaultOption {
  readonly at?: number;
  readonly versions?: boolean;
}

export function registerVaultShow(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('get').argument('<type>').argument('<id>'))
    .description('one item, pretty-printed')
    .option('--at <version>', 'as it was in this version (see --versions)', wholeNumber(1, 1_000_000_000))
    .option('--versions', 'when it changed, instead of its content');
  examples(command, [
    'headworks vault get dashboards 42',
    'headworks vault get dashboards 42 --versions',
    'headworks vault get explores sales::orders --at 1 --json',
  ]);
  act<ShowOptions>(host, command, async (session, options, [type = '', id = '']) => {
    await readVault(session, options, (reader, { canonicalJson, parseJson }) => {
      const item = reader.item(type, id);
      if (options.versions) return showVersions(session, item, reader.versions(type, id));
      const data = reader.data(type, id, options.at);
      const facts = options.at === undefined ? {} : { version: options.at };
      if (session.out.isJson)
        return session.out.line(
          canonicalJson({ ...answerOf(item), ...facts, data: data === null ? null : parseJson(data) }),
        );
      showFacts(session, item);
      session.out.line();
      if (data === null) return session.out.line('In this version it was gone.');
      for (const line of canonicalJson(parseJson(data), 2).split('\n')) session.out.line(printable(line));
    });
    return exitCodes.ok;
  });
}

function showFacts({ out }: CliSession, item: ItemRecord): void {
  const when = (at: number | null) => (at === null ? '–' : (isoMoment(at) ?? String(at)));
  out.facts([
    ['type', item.type],
    ['id', item.id],
    ['name', item.name ?? '–'],
    ['owner', item.owner ?? '–'],
    ['folder', item.folder ?? '–'],
    ['created', when(item.createdAt)],
    ['updated', when(item.updatedAt)],
    ['last seen', when(item.syncedAt)],
    ['deleted', when(item.deletedAt)],
    ['size', `${item.size} bytes`],
    ['hash', item.hash],
  ]);
}

function showVersions({ out }: CliSession, item: ItemRecord, versions: readonly VersionRecord[]): void {
  if (out.isJson) return out.json({ type: item.type, id: item.id, versions: versions.map(answerOf) });
  out.table(
    ['VERSION', 'FIRST SEEN', 'SESSION', 'SIZE', 'HASH'],
    versions.map(({ number, firstSeenAt, session, size, hash }) => [
      String(number),
      isoMoment(firstSeenAt) ?? '–',
      String(session),
      size === null ? 'gone' : `${size} bytes`,
      hash ?? '–',
    ]),
  );
}

/** More are in the vault, and in --json. */
const mostLetters = 20;

export function registerVaultVerify(group: Command, host: CommandHost): void {
  const command = addVaultOption(group.command('verify'))
    .description('check every row, and every type against what the source said there is')
    .addHelpText('after', '\nExits with 4 if something is damaged or missing.');
  examples(command, ['headworks vault verify', 'headworks vault verify --vault acme.vault --json']);
  act<VaultOption>(host, command, async (session, options) =>
    readVault(session, options, (reader, { verifyVault }) => {
      const report = verifyVault(reader, session.io.signal);
      const letters = reader.deadLetters().map((letter) => session.redactor.value(letter));
      if (session.out.isJson) session.out.json(answer(report, letters));
      else printReport(session, report, letters);
      return report.problemCount === 0 ? exitCodes.ok : exitCodes.incomplete;
    }),
  );
}

const answer = (report: VerifyReport, letters: readonly DeadLetter[]): Record<string, unknown> => ({
  ...answerOf(report),
  dead_letters: letters.map(answerOf),
});

function printReport({ out }: CliSession, report: VerifyReport, letters: readonly DeadLetter[]): void {
  const { checked, problems, problemCount } = report;
  for (const { kind, type, id, message } of problems) {
    const where = [type, id].filter((part) => part !== null).join(' ');
    const word = out.style(kind === 'damaged' ? 'red' : 'yellow', kind.padEnd(10));
    out.line(`${word}  ${printable(where === '' ? message : `${where}: ${message}`)}`);
  }
  if (problemCount > problems.length) out.line(`… and ${problemCount - problems.length} more.`);
  for (const { type, pageKey, cause, message } of letters.slice(0, mostLetters))
    out.line(printable(`dead letter  ${type} ${pageKey}: ${cause}: ${message}`));
  if (letters.length > mostLetters) out.line('… and more dead letters: see --json.');
  out.line(
    `Checked ${counted(checked.items, 'item')}, ${counted(checked.versions, 'version')} and ` +
      `${counted(checked.pages, 'page')}: ` +
      `${report.isSound ? 'nothing is damaged' : 'the vault is damaged'}, ` +
      `${report.isComplete ? 'nothing is missing' : 'something is missing'}.`,
  );
  if (!report.isSound) out.note('Restore the vault from a copy, or extract into a new file.');
  else if (!report.isComplete) out.note(remedy(letters));
}

/** Lists that ended too early or led nowhere: asking again does not help. */
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
