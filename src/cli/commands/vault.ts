// headworks vault: read, compare, export and prune vaults.
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type * as vaultTools from '../../extraction/vault/index.ts';
import type {
  DeadLetter,
  ItemChange,
  ItemRecord,
  SessionRecord,
  TypeRecord,
  VaultReader,
  VerifyReport,
  VersionRecord,
} from '../../extraction/vault/index.ts';
import { CoreError, toSnakeCase } from '../../core/index.ts';
import type { CliContext } from '../command.ts';
import { action, examples, wholeNumber } from '../command.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted, humanMoment, printable, sizeText } from '../output.ts';
import type { CliSession } from '../session.ts';

interface VaultOption {
  readonly vault?: string;
}

type VaultTools = typeof vaultTools;

function addVaultOption(command: Command): Command {
  return command.option('--vault <file>', 'vault file; default: the only one in the data folder');
}

/** Opens the vault for reading; `tools` is what the application can do with it. */
async function readVault<T>(
  session: CliSession,
  { vault }: VaultOption,
  work: (reader: vaultTools.VaultReader, tools: VaultTools) => T | Promise<T>,
): Promise<T> {
  const dataFolder = session.config().data.folder;
  const tools = await import('../../extraction/vault/index.ts');
  return tools.withVault({ file: vault, cwd: session.io.cwd, dataFolder }, (reader) => {
    if (reader.wasOlder) session.out.note(updatedText(reader.path));
    return work(reader, tools);
  });
}

/** Note of a reading command that migrated the vault. */
export const updatedText = (path: string): string =>
  `${path} was migrated from an older version. Older versions of Headworks can no longer read it.`;

/** The chosen file, for a command that writes it. */
async function chosenVault(
  session: CliSession,
  { vault }: VaultOption,
): Promise<{ readonly path: string; readonly tools: VaultTools }> {
  const dataFolder = session.config().data.folder;
  const tools = await import('../../extraction/vault/index.ts');
  return { path: await tools.chooseVault({ file: vault, cwd: session.io.cwd, dataFolder }), tools };
}

/** A record for --json: snake_case names, moments in ISO 8601. Nested records stay as they are. */
function recordOf(record: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).map(([name, value]: [string, unknown]) => [
      toSnakeCase(name),
      /At$|^at$/.test(name) && typeof value === 'number' ? isoMoment(value) : value,
    ]),
  );
}

/** `3 min ago`; a dash for no moment at all. */
const moment = ({ io }: CliSession, at: number | null): string =>
  humanMoment(at === null ? null : isoMoment(at), io.clock.now());

/** Null for an invalid moment from a source. */
function isoMoment(at: number): string | null {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

export function register(group: Command, context: CliContext): void {
  examples(group, [
    'headworks vault list',
    'headworks vault verify --vault acme.vault',
    'headworks vault diff',
  ]);
  for (const registerEach of [
    registerVaultList,
    registerVaultGet,
    registerVaultVerify,
    registerVaultDiff,
    registerVaultExport,
    registerVaultPrune,
  ])
    registerEach(group, context);
}

interface DiffOptions extends VaultOption {
  readonly from?: string;
  readonly to?: string;
}

function registerVaultDiff(group: Command, context: CliContext): void {
  const command = addVaultOption(group.command('diff'))
    .description('list items that were added, changed and deleted between two sessions')
    .option('--from <session>', 'number or id; 0 is the empty vault; default: the session before --to')
    .option('--to <session>', 'number or id; default: the newest');
  examples(command, ['headworks vault diff', 'headworks vault diff --from 3 --to 7 --json']);
  action<DiffOptions>(context, command, async (session, options) => {
    await readVault(session, options, (reader, { diffSessions }) => {
      const { from, to } = bounds(reader, options);
      const counts = { added: 0, changed: 0, deleted: 0 };
      for (const change of diffSessions(reader, from, to)) {
        if (session.io.outputClosed.aborted) return;
        session.io.signal.throwIfAborted();
        counts[change.kind] += 1;
        if (session.out.isJson) session.out.jsonLine(recordOf(change));
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

const changeStyles = {
  added: { color: 'green', sign: '+' },
  changed: { color: 'yellow', sign: '~' },
  deleted: { color: 'red', sign: '-' },
} as const;

function printChange({ out }: CliSession, { type, id, name, kind, fields, isPruned }: ItemChange): void {
  const { color, sign } = changeStyles[kind];
  out.line(out.style(color, printable(`${sign} ${type} ${id}${name === null ? '' : `  ${name}`}`)));
  if (isPruned) out.line('    (that version was pruned)');
  for (const { path, from, to } of fields)
    out.line(printable(`    ${path}: ${from ?? '(nothing)'} → ${to ?? '(nothing)'}`));
}

function registerVaultExport(group: Command, context: CliContext): void {
  const command = addVaultOption(group.command('export').argument('<folder>')).description(
    'write one JSON file per item into a folder; unchanged files are kept, files of deleted items are deleted',
  );
  examples(command, [
    'headworks vault export backup',
    'headworks vault export backup --vault acme.vault && git -C backup add --all',
  ]);
  action<VaultOption>(context, command, async (session, options, [given = '']) => {
    const { out, io } = session;
    const folder = resolve(io.cwd, given);
    await readVault(session, options, async (reader, { exportVault }) => {
      const report = await exportVault(reader, folder, io.signal);
      const open = reader.types().filter(({ status }) => status !== 'completed');
      if (out.isJson)
        return out.json({ folder, ...recordOf(report), incomplete: open.map(({ type }) => type) });
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

function registerVaultList(group: Command, context: CliContext): void {
  const command = addVaultOption(group.command('list', { isDefault: true }).argument('[type]'))
    .description('list types with counts, the items of one type, or with --sessions the sessions')
    .option('--sessions', 'list extraction sessions, newest first')
    .option('--deleted', 'include deleted items')
    .option('--limit <count>', 'maximum number of items or sessions', wholeNumber(1, 10_000), 100)
    .option('--after <id>', 'continue after this item');
  examples(command, [
    'headworks vault list',
    'headworks vault list dashboards --limit 20',
    'headworks vault list --sessions --json',
  ]);
  action<ListOptions>(context, command, async (session, options, [type]) => {
    await readVault(session, options, (reader) => {
      if (type !== undefined) {
        const { limit, after, deleted = false } = options;
        const query = { limit: limit + 1, withDeleted: deleted, ...(after === undefined ? {} : { after }) };
        printItems(session, reader.items(type, query), limit);
      } else if (options.sessions) printSessions(session, reader.sessions(options.limit));
      else printTypes(session, reader.source(), reader.types());
    });
    return exitCodes.ok;
  });
}

function printTypes(session: CliSession, source: string | null, types: readonly TypeRecord[]): void {
  const { out } = session;
  if (out.isJson) return out.json({ source, types: types.map(recordOf) });
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

function printItems(session: CliSession, found: readonly ItemRecord[], limit: number): void {
  const { out } = session;
  const items = found.slice(0, limit);
  const next = found.length > limit ? (items.at(-1)?.id ?? null) : null;
  if (out.isJson) return out.json({ items: items.map(recordOf), next });
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

function printSessions(session: CliSession, sessions: readonly SessionRecord[]): void {
  const { out } = session;
  if (out.isJson) return out.json({ sessions: sessions.map(recordOf) });
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

function registerVaultPrune(group: Command, context: CliContext): void {
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
  examples(command, [
    'headworks vault prune --older-than 90',
    'headworks vault prune --older-than 365 --keep 3 --compact',
  ]);
  action<PruneOptions>(context, command, async (session, options) => {
    const { out, io } = session;
    const { path, tools } = await chosenVault(session, options);
    const { olderThan: olderThanDays, keep, compact = false } = options;
    const { clock, signal } = io;
    const report = await tools.pruneVault(path, { olderThanDays, keep }, { clock, signal, compact });
    if (out.isJson) out.json({ vault: path, ...recordOf(report) });
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

function registerVaultGet(group: Command, context: CliContext): void {
  const command = addVaultOption(group.command('get').argument('<type>').argument('<id>'))
    .description('get an item')
    .option('--at <version>', 'content in this version (see --versions)', wholeNumber(1, 1_000_000_000))
    .option('--versions', 'list its versions instead of its content');
  examples(command, [
    'headworks vault get dashboards 42',
    'headworks vault get dashboards 42 --versions',
    'headworks vault get explores sales::orders --at 1 --json',
  ]);
  action<ShowOptions>(context, command, async (session, options, [type = '', id = '']) => {
    await readVault(session, options, (reader, { canonicalJson, parseJson }) => {
      const item = reader.item(type, id);
      if (options.versions) return printVersions(session, item, reader.versions(type, id));
      const data = reader.data(type, id, options.at);
      const facts = options.at === undefined ? {} : { version: options.at };
      if (session.out.isJson)
        return session.out.line(
          canonicalJson({ ...recordOf(item), ...facts, data: data === null ? null : parseJson(data) }),
        );
      printItem(session, item);
      session.out.line();
      if (data === null) return session.out.line('The item was deleted in this version.');
      for (const line of canonicalJson(parseJson(data), 2).split('\n')) session.out.line(printable(line));
    });
    return exitCodes.ok;
  });
}

function printItem({ out }: CliSession, item: ItemRecord): void {
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

function printVersions({ out }: CliSession, item: ItemRecord, versions: readonly VersionRecord[]): void {
  if (out.isJson) return out.json({ type: item.type, id: item.id, versions: versions.map(recordOf) });
  out.table(
    ['VERSION', 'FIRST SEEN', 'SESSION', 'SIZE', 'HASH'],
    versions.map(({ number, firstSeenAt, session, size, hash }) => [
      String(number),
      isoMoment(firstSeenAt) ?? '–',
      String(session),
      size === null ? 'deleted' : `${size} bytes`,
      hash ?? '–',
    ]),
  );
}

/** More are in the vault, and in --json. */
const maxDeadLetters = 20;

function registerVaultVerify(group: Command, context: CliContext): void {
  const command = addVaultOption(group.command('verify'))
    .description('check every row, and every type against the total that the source reported')
    .addHelpText('after', '\nExits with 4 if items are damaged or missing.');
  examples(command, ['headworks vault verify', 'headworks vault verify --vault acme.vault --json']);
  action<VaultOption>(context, command, async (session, options) =>
    readVault(session, options, (reader, { verifyVault }) => {
      const report = verifyVault(reader, session.io.signal);
      const letters = reader.deadLetters().map((letter) => session.redactor.value(letter));
      if (session.out.isJson) session.out.json(verifyResult(report, letters));
      else printReport(session, report, letters);
      return report.problemCount === 0 ? exitCodes.ok : exitCodes.incomplete;
    }),
  );
}

const verifyResult = (report: VerifyReport, letters: readonly DeadLetter[]): Record<string, unknown> => ({
  ...recordOf(report),
  dead_letters: letters.map(recordOf),
});

function printReport({ out }: CliSession, report: VerifyReport, letters: readonly DeadLetter[]): void {
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
