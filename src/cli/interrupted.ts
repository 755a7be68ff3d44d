// For commands that run until they are interrupted.
import { onAbort } from '../core/index.ts';
import type { ExitCode } from './exit-codes.ts';
import { exitCodes } from './exit-codes.ts';
import type { CliIo } from './ports.ts';
import { Interrupt } from './ports.ts';

/** Waits for an interrupt: 130 after Ctrl-C, 0 after SIGTERM. */
export async function interrupted({ signal }: CliIo): Promise<ExitCode> {
  await new Promise<void>((resolve) => onAbort(signal, () => resolve()));
  const reason: unknown = signal.reason;
  return reason instanceof Interrupt && reason.by === 'SIGINT' ? exitCodes.interrupted : exitCodes.ok;
}
