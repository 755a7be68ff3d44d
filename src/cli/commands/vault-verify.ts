// headworks vault verify: is every row what was written, and is everything there that the source has?
import type { Command } from 'commander';
import type { DeadLetter, VerifyReport } from '../../app/vault.ts';
import type { CommandHost } from '../command-host.ts';
import { act, examples } from '../command-host.ts';
import { exitCodes } from '../exit-codes.ts';
import { counted } from '../counted.ts';
import type { CliSession } from '../session.ts';
import { printable } from '../table.ts';
import { addVaultOption, answerOf, readVault, type VaultOption } from './vault-session.ts';

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
      else show(session, report, letters);
      return report.problemCount === 0 ? exitCodes.ok : exitCodes.incomplete;
    }),
  );
}

const answer = (report: VerifyReport, letters: readonly DeadLetter[]): Record<string, unknown> => ({
  ...answerOf(report),
  dead_letters: letters.map(answerOf),
});

function show({ out }: CliSession, report: VerifyReport, letters: readonly DeadLetter[]): void {
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
  if (!report.isSound) out.note('Restore the vault from a copy, or extract it anew into another file.');
  else if (!report.isComplete) out.note(remedy(letters));
}

/** Lists that ended too early or led nowhere: asking again does not help. */
const brokenLists = new Set(['repeated', 'short']);

function remedy(letters: readonly DeadLetter[]): string {
  // That a parent is incomplete is mended with the parent.
  const causes = letters.map(({ cause }) => cause).filter((cause) => cause !== 'parent-incomplete');
  if (causes.length === 0)
    return 'Run "headworks extract" again; if something is still missing then, with --fresh.';
  return causes.every((cause) => brokenLists.has(cause))
    ? 'Correct the pagination of the source if it is wrong, and run "headworks extract" again with --fresh.'
    : 'Run "headworks extract" again with --retry-failed, or with --fresh.';
}
