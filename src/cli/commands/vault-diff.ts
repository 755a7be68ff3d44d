// headworks vault diff: what was added, changed and deleted between two extractions.
import type { Command } from 'commander';
import type { ItemChange, SessionRecord, VaultReader } from '../../app/vault.ts';
import { CoreError } from '../../core/index.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import type { CliSession } from '../session.ts';
import { printable } from '../table.ts';
import { addVaultOption, answerOf, readVault, type VaultOption } from './vault-session.ts';

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
        else show(session, change);
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

function show({ out }: CliSession, { type, id, name, kind, fields, isPruned }: ItemChange): void {
  const { color, sign } = looks[kind];
  out.line(out.style(color, printable(`${sign} ${type} ${id}${name === null ? '' : `  ${name}`}`)));
  if (isPruned) out.line('    (what it was then was pruned)');
  for (const { path, from, to } of fields)
    out.line(printable(`    ${path}: ${from ?? '(nothing)'} → ${to ?? '(nothing)'}`));
}
